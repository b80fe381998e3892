"""nginx at its best settings, without a master process, and the curl that fetches from it."""

import os
import shutil
import subprocess

from bench_parts.hosts import LOOPBACK, PATH
from bench_parts.processes import stop, wait_for_port

# Measured on Debian 12's nginx 1.22: larger record buffers than the default 16 KiB halve its system
# calls; beyond 256 KiB nothing is gained.
RECORD_BUFFER = "256k"

CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 64; use epoll; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    output_buffers 4 1m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {address}:{port}{tls};
        root {root};
    }}
}}
"""
TLS = """ ssl;
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_buffer_size {buffer}"""


class Nginx:
    """Its files and the commands of both ends: HTTPS (TLS 1.3, AES-128-GCM), or HTTP in clear by sendfile."""

    def __init__(self, folder, root, address, port, clear=False):
        self.folder, self.address, self.port = os.path.join(folder, f"nginx-{port}"), address, port
        self.scheme, tls = "http" if clear else "https", ""
        os.mkdir(self.folder)
        if not clear:
            self.make_certificate()
            tls = TLS.format(folder=self.folder, buffer=RECORD_BUFFER)
        with open(os.path.join(self.folder, "nginx.conf"), "w") as file:
            file.write(CONFIGURATION.format(folder=self.folder, root=root, address=address, port=port, tls=tls))

    def make_certificate(self):
        self.certificate = f"{self.folder}/certificate.pem"
        LOOPBACK.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", f"{self.folder}/key.pem", "-out", self.certificate, "-days", "2", "-subj", "/CN=localhost",
                     "-addext", f"subjectAltName=IP:{self.address}")

    @staticmethod
    def missing():
        return [name for name in ("nginx", "curl", "openssl") if not shutil.which(name, path=PATH)]

    def serve(self):
        return [shutil.which("nginx", path=PATH), "-p", self.folder, "-c", f"{self.folder}/nginx.conf"]

    def url(self, name=""):
        """Of a file of its root."""
        return f"{self.scheme}://{self.address}:{self.port}/{name}"

    def fetch(self, target):
        """`source` of its root."""
        return ["curl", "--silent", "--show-error", "--fail", "--cacert", self.certificate, "-o", target,
                self.url("source")]


class RunningNginx(Nginx):
    def __init__(self, folder, root, host=LOOPBACK, clear=False):
        super().__init__(folder, root, host.address, host.free_port(), clear)
        self.server = host.start(self.serve(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        wait_for_port(self.server, host, self.port, os.path.join(self.folder, "error.log"))

    def stop(self):
        stop(self.server)
