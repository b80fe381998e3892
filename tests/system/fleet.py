"""What tests of a fleet share: a job whose state is in PostgreSQL, and movers that begin together."""

from harness import wait_for
from jobs import Jobs
from postgres import Postgres


class FleetCase(Jobs):
    def setUp(self):
        super().setUp()
        self.postgres = Postgres(self)

    def shared_job(self, destinations, **more):
        return self.job(destinations, state=self.postgres.uri, concurrency=1, **more)

    def status(self, job):
        result = self.replicate(job, "status")
        self.assert_done(result)
        return result.events[0]

    def alive(self, job):
        return [mover for mover in self.status(job)["movers"] if mover["alive"]]

    def begin_paused(self, job, count, launchers=()):
        """So many movers, who all begin when the job is resumed."""
        self.assert_done(self.replicate(job, "pause"))
        launchers = [*launchers, *[()] * (count - len(launchers))]
        movers = [self.start("replicate", job, launcher=launcher) for launcher in launchers]
        for mover in movers:
            wait_for(lambda: "paused" in mover.stderr, "a mover that waits", alive=mover.running)
        wait_for(lambda: len(self.alive(job)) == count, "all movers")
        return movers

    def leases(self, mover, condition):
        return self.postgres.sql("SELECT lease.id FROM lambda_ftp.lease, lambda_ftp.task WHERE lease.task = task.id "
                                 f"AND convert_from(owner, 'UTF8') LIKE '%:{mover.pid}:%' AND {condition}")

    def count(self, table, condition):
        return int(self.postgres.sql(f"SELECT count(*) FROM lambda_ftp.{table} WHERE {condition}")[0][0])

    def assert_one_at_a_time(self):
        """Of each range, how often it was leased; none by two at once."""
        ranges = self.postgres.sql("SELECT task, began, ended FROM lambda_ftp.lease WHERE task IN (SELECT id FROM "
                                   "lambda_ftp.task WHERE piece = 1) ORDER BY task, id")
        for (task, _, ended), (next_task, begins, _) in zip(ranges, ranges[1:]):
            self.assertTrue(task != next_task or int(begins) >= int(ended) > 0, "two at once")
        return len({task for task, _, _ in ranges})
