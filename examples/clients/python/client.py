"""Logs in, calls me, and logs out, with the standard library of Python 3.9 or newer.

Uses LATCHKEY_URL, LATCHKEY_EMAIL and LATCHKEY_PASSWORD. LATCHKEY_TOKEN can be the token of an earlier login. Exits 0 when done, 1 when refused, 2 when a setting is missing.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

TRIES = 4
LONGEST_WAIT_S = 60


class Refused(Exception):
    """The service refused the request. Switch on `reason`."""

    def __init__(self, status, fields):
        self.status = status
        self.reason = fields.get("reason", "unknown")
        super().__init__(f"{status} {self.reason}, request {fields.get('request_id', 'unknown')}")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that a token is sent to the service only."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


class Client:
    def __init__(self, url, email, password, token=None):
        self.url = url.rstrip("/")
        self.credentials = {"email": email, "password": password}
        self.token = token

    def log_in(self):
        self.token = self.post("/api/login", self.credentials)["token"]

    def as_customer(self, path):
        """Calls with the token. If it is revoked or expired, tries once with a new one."""
        if self.token is None:
            self.log_in()
        try:
            return self.post(path, token=self.token)
        except Refused as refused:
            if refused.status != 401:
                raise
        self.log_in()
        return self.post(path, token=self.token)

    def log_out(self):
        try:
            self.post("/api/logout", token=self.token)
        except Refused as refused:
            # 401 means that the token is revoked: the response to an earlier try was lost.
            if refused.status != 401:
                raise
        self.token = None

    def post(self, path, body=None, token=None):
        """Retries after `Retry-After`, a few times."""
        for left in reversed(range(TRIES)):
            status, headers, fields = self.send(path, body, token)
            # Without it, the response is not from the service.
            if status == 200 and fields.get("success") is True:
                return fields
            wait_s = seconds_of(headers.get("Retry-After"))
            if status not in (429, 503) or left == 0 or wait_s > LONGEST_WAIT_S:
                raise Refused(status, fields)
            time.sleep(wait_s)

    def send(self, path, body, token):
        request = urllib.request.Request(self.url + path, method="POST")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with OPENER.open(request, timeout=15) as response:
                return response.status, response.headers, read(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, read(error)


def read(response):
    """Returns the fields of a response; none if it is not from the service."""
    try:
        fields = json.loads(response.read())
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def seconds_of(retry_after):
    return int(retry_after) if retry_after is not None and retry_after.isdecimal() else 1


def main():
    settings = {name: os.environ.get(f"LATCHKEY_{name}") for name in ("URL", "EMAIL", "PASSWORD")}
    for name, value in settings.items():
        if not value:
            print(f"latchkey: set LATCHKEY_{name}", file=sys.stderr)
            return 2
    client = Client(*settings.values(), token=os.environ.get("LATCHKEY_TOKEN") or None)
    try:
        email = client.as_customer("/api/me")["customer"]["email"]
        client.log_out()
    except Refused as refused:
        print(f"latchkey: {refused}", file=sys.stderr)
        return 1
    except (OSError, http.client.HTTPException):
        print("latchkey: the service cannot be reached", file=sys.stderr)
        return 1
    print(f"logged in and out as {email}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
