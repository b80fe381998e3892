"""What tests of a sync between two servers share."""

from copies import CopyCase
from harness import DONE


class BetweenCase(CopyCase):
    def sync(self, *arguments, code=DONE, **how):
        result = self.client("sync", *self.both(), *arguments, **how)
        self.assertEqual(result.code, code, str(result))
        return result

    @staticmethod
    def changes(result):
        return sorted((event["change"], event["path"]) for event in result.events if event["event"] == "change")

    def moves(self, result):
        return [change for change in self.changes(result) if change[0] != "attributes"]
