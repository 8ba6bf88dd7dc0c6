"""Verifies Latchkey's tokens in a Python process, with a cache that is revoked exactly. The standard library suffices.

    verifier = Verifier('http://127.0.0.1:3000', service_token)
    verified = verifier.verify(token)    # None for a token that is not valid

The protocol is described in docs/reference/verifier-protocol.md. The class is safe for threads.
"""

import http.client
import json
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
import uuid
import zlib
from hashlib import sha256

BEAT_S = 0.25
SILENCE_S = 2.0
LOOKUP_S = 3.0
ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
FORM = re.compile(r'[a-z][a-z0-9]{0,15}_[0-9A-Za-z]{46}')


class Unavailable(Exception):
    """There is no result: refuse the request."""


class _Lost(Exception):
    """The connection was lost during a lookup."""


def is_well_formed(token):
    """Checks form and checksum, so that a mistyped or invented token costs no lookup."""
    if not FORM.fullmatch(token):
        return False
    rest, digits = zlib.crc32(token[:-6].encode()), ''
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits = ALPHABET[digit] + digits
    return digits == token[-6:]


class _Fill:
    def __init__(self, digest):
        self.digest = digest
        self.sent = time.monotonic()
        # Whether an invalidation arrived since it was sent: its result is then never stored.
        self.marked = False
        self.done = threading.Event()
        self.result = self.error = None

    def finish(self, result=None, error=None):
        self.result, self.error = result, error
        self.done.set()


class Verifier:
    """Keeps one connection to an instance, and caches validations by its lease."""

    def __init__(self, url, service_token, max_entries=100_000):
        self._url = urllib.parse.urlsplit(url)
        self._secret = service_token
        self._name = str(uuid.uuid4())
        self._max = max_entries
        self._lock = threading.RLock()
        self._socket = None
        self._cache, self._customers = {}, {}
        self._fills, self._pending = {}, {}
        self._beats, self._last_beat, self._last_find, self._lease = {}, 0, 0, None
        self._used = set()
        self._closing = threading.Event()
        threading.Thread(target=self._keep_connected, daemon=True).start()

    def verify(self, token, address=None):
        """Returns a dict with customer, email, name and abilities, or None. Raises Unavailable without a result."""
        digest = sha256(token.encode()).hexdigest()
        with self._lock:
            hit = self._cache.get(digest)
            if hit and time.monotonic() < hit['until'] and self._holds_lease():
                self._used.add(hit['token'])
                return dict(hit)
        if not is_well_formed(token):
            return None
        try:
            return self._look_up(digest, address)
        except _Lost:
            return self._introspect(token)

    def close(self):
        self._closing.set()
        with self._lock:
            self._leave()

    # Both clocks are compared at each use: the monotonic one stops while the machine sleeps, the other may be set.
    def _holds_lease(self):
        if self._lease is None:
            return False
        monotonic, wall, seconds = self._lease
        return time.monotonic() - monotonic < seconds and 0 <= time.time() - wall < seconds

    def _look_up(self, digest, address):
        with self._lock:
            if self._socket is None:
                raise _Lost()
            fill = self._fills.get(digest)
            if fill is None or not self._holds_lease():
                self._mark(digest)
                fill = self._fills[digest] = _Fill(digest)
                self._last_find += 1
                self._pending[self._last_find] = fill
                self._send(f'find {self._last_find} {digest}' + (f' {address}' if address else ''))
        if not fill.done.wait(LOOKUP_S):
            raise Unavailable('Latchkey did not respond in time.')
        if fill.error is not None:
            raise fill.error
        return fill.result

    def _introspect(self, token):
        body = urllib.parse.urlencode({'token': token}).encode()
        headers = {'Authorization': f'Bearer {self._secret}'}
        request = urllib.request.Request(f'{self._url.geturl().rstrip("/")}/introspect', body, headers)
        try:
            with urllib.request.urlopen(request, timeout=LOOKUP_S) as response:
                found = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unavailable('Latchkey cannot respond right now.') from error
        if not found['active']:
            return None
        abilities = found.get('scope', '').split()
        names = {'customer': found['sub'], 'email': found['username'], 'name': found['token_name']}
        return {**names, 'abilities': abilities}

    def _keep_connected(self):
        pause = 0.05
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                self._run_connection()
            except (OSError, ValueError, LookupError):
                pass  # It is opened again.
            with self._lock:
                self._lose()
            pause = 0.05 if time.monotonic() - began > SILENCE_S else min(1.0, pause * 2)
            self._closing.wait(pause * random.uniform(0.5, 1))

    def _run_connection(self):
        with self._open() as connection:
            reader = connection.makefile('rb')
            head = reader.readline().split(b' ')
            while reader.readline().strip():
                pass
            if len(head) < 2 or head[1] != b'101':
                return
            connection.settimeout(SILENCE_S)
            with self._lock:
                if self._closing.is_set():
                    return
                self._lose()
                self._socket = connection
            threading.Thread(target=self._beat, args=(connection,), daemon=True).start()
            for line in reader:
                if not line.endswith(b'\n'):
                    return  # The connection ended within it.
                with self._lock:
                    if self._socket is not connection or not self._received(line.decode().rstrip('\n')):
                        return

    def _open(self):
        port = self._url.port or (443 if self._url.scheme == 'https' else 80)
        connection = socket.create_connection((self._url.hostname, port), timeout=SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._url.scheme == 'https':
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=self._url.hostname)
        connection.sendall(
            f'GET {self._url.path.rstrip("/")}/verifiers HTTP/1.1\r\nHost: {self._url.netloc}\r\n'
            f'Authorization: Bearer {self._secret}\r\nConnection: Upgrade\r\nUpgrade: latchkey-verifier/1\r\n'
            f'Latchkey-Verifier: {self._name}\r\n\r\n'.encode()
        )
        return connection

    def _beat(self, connection):
        while True:
            with self._lock:
                if self._socket is not connection:
                    return
                self._last_beat += 1
                # The clocks are read before the sending.
                self._beats[self._last_beat] = (time.monotonic(), time.time())
                self._beats.pop(self._last_beat - 8, None)
                self._send(f'beat {self._last_beat}')
                if self._last_beat % 20 == 0:
                    self._report_uses()
            time.sleep(BEAT_S)

    def _report_uses(self):
        used, self._used = sorted(self._used), set()
        for i in range(0, len(used), 100):
            self._send('used ' + ' '.join(used[i : i + 100]))

    def _received(self, line):
        kind, *words = line.split(' ', 2)
        if kind == 'lease':
            sent = self._beats.get(int(words[0]))
            if sent is not None:
                self._beats = {k: at for k, at in self._beats.items() if k > int(words[0])}
                self._lease = (*sent, int(words[1]) / 1000)
        elif kind == 'digest':
            self._invalidate(words[0])
        elif kind == 'customer':
            # The customer of a fill is unknown until it has arrived.
            for digest in list(self._fills):
                self._mark(digest)
            for digest in self._customers.pop(words[0], ()):
                self._cache.pop(digest, None)
        elif kind == 'forget':
            self._forget()
        elif kind == 'ask':
            self._send(f'seen {words[0]}')
        elif kind == 'found':
            self._store(int(words[0]), json.loads(words[1]))
        elif kind in ('none', 'limited', 'failed'):
            fill = self._take(int(words[0]))
            if fill is not None and kind == 'none':
                self._invalidate(fill.digest)
                fill.finish()
            elif fill is not None:
                fill.finish(error=Unavailable('Latchkey cannot respond right now.'))
        elif kind == 'leave':
            self._leave()
        return kind in KINDS and self._socket is not None

    def _store(self, n, found):
        left = found['keep'] if found['expires'] is None else min(found['keep'], found['expires'])
        found['abilities'] = tuple(found['abilities'])
        fill = self._take(n)
        if fill is None:
            return
        found['until'] = fill.sent + left / 1000
        if not fill.marked and left > 0:
            if len(self._cache) >= self._max:
                self._invalidate(next(iter(self._cache)))
            self._cache[fill.digest] = found
            self._customers.setdefault(found['customer'], set()).add(fill.digest)
        fill.finish(found)

    def _take(self, n):
        fill = self._pending.pop(n, None)
        if fill is not None and self._fills.get(fill.digest) is fill:
            del self._fills[fill.digest]
        return fill

    def _mark(self, digest):
        fill = self._fills.pop(digest, None)
        if fill is not None:
            fill.marked = True

    def _invalidate(self, digest):
        self._mark(digest)
        entry = self._cache.pop(digest, None)
        if entry is not None:
            digests = self._customers.get(entry['customer'], set())
            digests.discard(digest)
            if not digests:
                self._customers.pop(entry['customer'], None)

    def _forget(self):
        for digest in list(self._fills):
            self._mark(digest)
        self._cache.clear()
        self._customers.clear()

    def _lose(self):
        self._socket, self._lease = None, None
        self._beats.clear()
        self._used.clear()
        self._forget()
        for fill in self._pending.values():
            fill.finish(error=_Lost())
        self._pending.clear()

    def _leave(self):
        connection = self._socket
        self._lose()
        if connection is not None:
            try:
                connection.sendall(b'bye\n')
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _send(self, line):
        try:
            self._socket.sendall(line.encode() + b'\n')
        except OSError:
            pass  # The reader notices the loss.


KINDS = {'lease', 'wait', 'digest', 'customer', 'forget', 'ask', 'found', 'none', 'limited', 'failed', 'leave'}
