"""A line between a client and a server, which a test cuts."""

import itertools
import socket
import threading


class Line:
    """Carries the TCP connections to a server, until they are cut. Those whose numbers, by their order, are in
    `refused` end at once."""

    def __init__(self, case, server, refused=()):
        self.refused = refused
        self.to = (server.host, server.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.whole, self.sockets, self.lost = True, [], set()
        case.addCleanup(self.listener.close)
        case.addCleanup(self.cut)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        for number in itertools.count():
            try:
                near = self.listener.accept()[0]
                far = socket.create_connection(self.to)
            except OSError:
                return
            self.sockets += [near, far]
            if not self.whole or number in self.refused:
                self._shut(near, far)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one, other):
        try:
            while piece := one.recv(65536):
                other.sendall(piece)
        except OSError:
            pass
        if self.lost.isdisjoint((one, other)):
            for end in (one, other):
                end.close()

    @staticmethod
    def _shut(*ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.whole = False
        self._shut(*self.sockets)

    def mend(self):
        self.whole = True

    def lose(self):
        """The client's ends of what stands are cut, and the server hears nothing of it."""
        ends = self.sockets[::2]
        self.lost.update(ends)
        for end in ends:
            end.shutdown(socket.SHUT_RDWR)
