"""What tests of replication jobs share."""

import http.server
import json
import os
import threading

from harness import DONE, KIB, MIB, Case


class Jobs(Case):
    """A source, and jobs that have it."""

    def setUp(self):
        super().setUp()
        self.environment["TZ"] = "UTC"
        self.source = self.folder("source")

    def other_server(self, **how):
        return self.server(root=self.folder("other-root"), state=self.folder("other-state"), **how)

    def job(self, destinations, **more):
        return self.job_from(self.source + "/", destinations, **more)

    def job_from(self, source, destinations, **more):
        path = os.path.join(self.scratch, "job.yaml")
        keys = {"sources": source, "destinations": destinations, "back_off": "200ms",
                "state": "job.db", **more}
        with open(path, "w") as file:
            for key, value in keys.items():
                file.write(f"{key}: {json.dumps(value)}\n")
        return path

    def files(self, count, size, folder="."):
        os.makedirs(os.path.join(self.source, folder), exist_ok=True)
        for i in range(count):
            self.file_with(os.path.join(self.source, folder, f"{i}"), self.random.randbytes(size))

    def mixed_tree(self):
        self.files(40, 3 * KIB, "many")
        self.files(1, 2 * MIB, "one/large")
        os.makedirs(os.path.join(self.source, "empty"))
        os.symlink("many/7", os.path.join(self.source, "link [1]*"))
        odd = os.path.join(os.fsencode(self.source), b"odd \xff\n name")
        os.mkdir(odd)
        self.file_with(os.path.join(odd, b"\r\n%0A"), b"x")
        os.chmod(os.path.join(self.source, "many"), 0o751)
        os.utime(os.path.join(self.source, "one"), ns=(1, 123456789123456789))

    def replicate(self, job, *words, **how):
        return self.client("replicate", job, *words, **how)

    def webhook(self):
        """Where it is, and the list of what it gets: (path, summary)."""
        got = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                got.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        web = http.server.HTTPServer(("127.0.0.1", 0), Hook)
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{web.server_port}", got

    def assert_done(self, result):
        self.assertEqual(result.code, DONE, str(result))
