"""What tests of copies from server to server share."""

import base64
import hashlib
import os
import ssl
import subprocess

from harness import DONE, KIB, MIB, Case


def fingerprint(server):
    """As the programs print it: over the certificate's public key."""
    certificate = os.path.join(server.state, "certificate.pem")
    public = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True,
                            capture_output=True).stdout
    der = ssl.PEM_cert_to_DER_cert(public.decode().replace("PUBLIC KEY", "CERTIFICATE"))
    return "SHA256:" + base64.b64encode(hashlib.sha256(der).digest()).decode().rstrip("=")


class CopyCase(Case):
    def pair(self, source_dials=False, **settings):
        """Two servers, of which the destination may dial, or the source."""
        hosts = {"copy_hosts": '["127.0.0.0/8"]', **settings}
        a = self.server(root=self.folder("a-root"), state=self.folder("a-state"),
                        settings=hosts if source_dials else settings)
        b = self.server(root=self.folder("b-root"), state=self.folder("b-state"),
                        settings=settings if source_dials else hosts)
        return a, b

    def marks(self):
        try:
            return os.listdir(os.path.join(self.home, ".local/state/lambda-ftp/landings"))
        except FileNotFoundError:
            return []

    def both(self):
        return ("--source-password-file", self.client_password)

    def copy(self, source, target, *options, code=DONE, **how):
        result = self.client("copy", *self.both(), *options, source, target, **how)
        self.assertEqual(result.code, code, str(result))
        return result

    def tree(self, server):
        os.makedirs(server.path("data/deep/empty"))
        names = {"data/big": 5 * MIB + 3, "data/deep/small": 7 * KIB, "data/none": 0}
        for name, size in names.items():
            self.file_with(server.path(name), self.random.randbytes(size))
        os.symlink("deep/small", server.path("data/link"))
        return names

    def assert_copied(self, names, a, b, to="data"):
        for name in names:
            self.assert_same(a.path(name), b.path(to + name[len("data"):]))
        self.assertEqual(os.readlink(b.path(to + "/link")), b"deep/small")
        self.assertTrue(os.path.isdir(b.path(to + "/deep/empty")))
        self.assertEqual(b.parts(), [])
