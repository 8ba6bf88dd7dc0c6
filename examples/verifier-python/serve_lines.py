"""Verifies the tokens of its input, one `<number> <token> [<address>]` a line. Prints `<number> <customer>` or `<number> none`."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from latchkey_verifier import Unavailable, Verifier

verifier = Verifier(sys.argv[1], os.environ['SERVICE_TOKEN'])


def respond(line):
    number, token, *address = line.rstrip('\n').split(' ')
    try:
        verified = verifier.verify(token, *address)
        result = 'none' if verified is None else verified['customer']
    except Unavailable:
        result = 'unavailable'
    # One write: those of several threads would mix.
    sys.stdout.write(f'{number} {result}\n')
    sys.stdout.flush()


with ThreadPoolExecutor(16) as pool:
    for line in sys.stdin:
        pool.submit(respond, line)
verifier.close()
