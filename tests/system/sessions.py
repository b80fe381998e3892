"""Control sessions by hand, from the client's side and from the server's (docs/protocol.md)."""

import os
import socket
import ssl
import threading

from harness import PASSWORD, USER

TERMS = ("stripes=2;payload=65475;syn=10000;initial=100000000;highest=0;window=0;block=1048576;memory=16777216;"
         "protection=private;cipher=aes-128-gcm;congestion=sabul;")


class Session:
    """A control session, spoken by hand. `key_of`: the server whose certificate it shows."""

    def __init__(self, case, server, key_of=None, login=True, user=USER):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if key_of:
            context.load_cert_chain(os.path.join(key_of.state, "certificate.pem"),
                                    os.path.join(key_of.state, "key.pem"))
        self.stream = context.wrap_socket(socket.create_connection((server.host, server.port), timeout=60))
        case.addCleanup(self.stream.close)
        self.file = self.stream.makefile("rb")
        self.hear()
        if login:
            self.ask("USER " + user)
            case.assertEqual(self.ask("PASS " + PASSWORD)[0], 230)

    def hear(self):
        """(code, lines) of the next reply; (0, []) where the session has ended."""
        lines = []
        while True:
            line = self.file.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
            if not line:
                return 0, []
            lines.append(line)
            if line[:3].isdigit() and line[3:4] == " ":
                return int(line[:3]), [line[4:] if line[:3].isdigit() else line[1:] for line in lines]

    def ask(self, line):
        self.stream.sendall(line.encode("utf-8", "surrogateescape") + b"\r\n")
        return self.hear()

    def last(self, line):
        """The last reply to a command that says preliminary ones."""
        answer = self.ask(line)
        while 100 <= answer[0] < 200:
            answer = self.hear()
        return answer

    def grant(self, case, facts, path):
        code, lines = self.ask(f"GRANT {facts} {path}")
        case.assertEqual(code, 200, lines)
        return lines[0].split("grant=")[1].rstrip(";")


class Impostor:
    """A server that conducts no copy, and answers COPY with these lines. It shows the key of another."""

    FACTS = ("files", "bytes", "failed", "links", "directories", "skipped", "unowned", "kept", "verified", "again",
             "sent", "lost", "repeated", "refused", "time", "adopted", "adoptedbytes", "mended", "deleted", "unsaid")

    def __init__(self, case, key_of, lines, port=0):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(key_of.state, "certificate.pem"),
                                     os.path.join(key_of.state, "key.pem"))
        self.replies = {"USER": ["331 Password"], "PASS": ["230 Welcome"], "MLST": ["550 No such file"],
                        "GRANT": [f"200 grant={'0' * 32};"], "COPY": lines}
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        case.addCleanup(self.listener.close)
        threading.Thread(target=self.serve, daemon=True).start()

    @classmethod
    def facts(cls, **values):
        return "".join(f"{name}={values.get(name, 0)};" for name in cls.FACTS)

    def url(self, path):
        return f"lambda://{USER}@127.0.0.1:{self.port}/{path}"

    def serve(self):
        try:
            while True:
                self.converse(self.listener.accept()[0])
        except OSError:
            pass  # the test is over

    def converse(self, plain):
        with self.encrypted(plain) as stream:
            for line in stream.makefile("rb"):
                self.answer(stream, line)

    def encrypted(self, plain):
        plain.settimeout(60)
        if plain.recv(1, socket.MSG_PEEK) != b"\x16":  # a stripe's begins with the handshake
            while plain.recv(1) not in (b"\n", b""):
                pass  # AUTH TLS
            plain.sendall(b"220 Ready\r\n234 TLS follows\r\n")
        return self.context.wrap_socket(plain, server_side=True)

    def answer(self, stream, line):
        """The command's verb."""
        verb = line.decode().split()[0]
        said = self.replies.get(verb, ["502 What?"])
        stream.sendall("".join(reply + "\r\n" for reply in said).encode())
        return verb


class ManyAtOnce(Impostor):
    """Speaks to all that come, side by side."""

    def serve(self):
        try:
            while True:
                plain, _ = self.listener.accept()
                threading.Thread(target=self.speak, args=(plain,), daemon=True).start()
        except OSError:
            pass  # the test is over

    def speak(self, plain):
        try:
            self.converse(plain)
        except OSError:
            pass  # the other end has left
