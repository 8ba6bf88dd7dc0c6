const UNKNOWN = 'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr'

/** Requests that must be refused with 400 and a closed connection, by their defect. */
export const MALFORMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries({
      'a length with a coding': 'Content-Length: 5\r\nTransfer-Encoding: chunked',
      'a coding with a length': 'Transfer-Encoding: chunked\r\nContent-Length: 5',
      'two lengths': 'Content-Length: 2\r\nContent-Length: 3',
      'one length twice': 'Content-Length: 0\r\nContent-Length: 0',
      'a list of lengths': 'Content-Length: 0, 0',
      'a signed length': 'Content-Length: +2',
      'a negative length': 'Content-Length: -1',
      'a length in hexadecimal': 'Content-Length: 0x2',
      'a length with a blank in it': 'Content-Length: 1 0',
      'an empty length': 'Content-Length:',
      'a huge length': 'Content-Length: 99999999999999999999999',
      'a coding that does not end in chunked': 'Transfer-Encoding: chunked, gzip',
      'an unknown coding': 'Transfer-Encoding: gzip, chunked',
      'a coding before chunked in two lines': 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
      'the coding identity': 'Transfer-Encoding: identity',
      'an invented coding': 'Transfer-Encoding: xchunked',
      'a quoted coding': 'Transfer-Encoding: "chunked"',
      'chunked twice': 'Transfer-Encoding: chunked, chunked',
      'chunked in two lines': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
      'a folded line': 'X-Folded: a\r\n b',
      'a line folded with a tab': 'X-Folded: a\r\n\tb',
      'a folded length': 'Content-Length:\r\n 2',
      'a blank before the colon': 'X-Blank : a',
      'a tab before the colon': 'X-Tab\t: a',
      'a line without a colon': 'X-Nothing',
      'a line without a name': ': a',
      'a bare CR': 'X-Bare: a\rX-Other: b',
      'a bare CR at the end': 'X-Bare: a\r\r',
      'a NUL in a value': 'X-Nul: a\u0000b',
      'a NUL in a name': 'X-\u0000: a',
      'a second Host line': 'Host: b',
      'two Authorization lines': `Authorization: Bearer ${UNKNOWN}\r\nAuthorization: Bearer ${UNKNOWN}`,
      'two Authorization lines of other case': `authorization: Bearer x\r\nX-Between: a\r\nAUTHORIZATION: Basic y`,
    }).map(([name, lines]) => [name, `POST /api/count HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`]),
  ),
  'a missing Host': 'POST /api/count HTTP/1.1\r\n\r\n',
  'a Host with a blank': 'POST /api/count HTTP/1.1\r\nHost: a b\r\n\r\n',
  'a Host with a path': 'POST /api/count HTTP/1.1\r\nHost: a/b\r\n\r\n',
  'a Host with an account': 'POST /api/count HTTP/1.1\r\nHost: a@b\r\n\r\n',
  'a Host with a port that is none': 'POST /api/count HTTP/1.1\r\nHost: a:b\r\n\r\n',
  'an unclosed literal as Host': 'POST /api/count HTTP/1.1\r\nHost: [::1\r\n\r\n',
  'HTTP/0.9': 'POST /api/count\r\n\r\n',
  'HTTP/0.9 by GET': 'GET /livez\r\n\r\n',
  'HTTP/2.0': 'POST /api/count HTTP/2.0\r\nHost: a\r\n\r\n',
  'HTTP/1.2': 'POST /api/count HTTP/1.2\r\nHost: a\r\n\r\n',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a coding in HTTP/1.0': 'POST /api/count HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  CONNECT: 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n',
  'a fragment': 'POST /api/count#a HTTP/1.1\r\nHost: a\r\n\r\n',
  'an unknown method': 'FROBNICATE /api/count HTTP/1.1\r\nHost: a\r\n\r\n',
  'a method in small letters': 'post /api/count HTTP/1.1\r\nHost: a\r\n\r\n',
  'a target without a slash': 'POST api/count HTTP/1.1\r\nHost: a\r\n\r\n',
  'a target with a control character': 'POST /api/count\u0001 HTTP/1.1\r\nHost: a\r\n\r\n',
  'a line ended by LF alone': 'POST /api/count HTTP/1.1\nHost: a\n\n',
  'a blank before the first header': 'POST /api/count HTTP/1.1\r\n Host: a\r\n\r\n',
  'a chunk size that is none':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n',
  'a signed chunk size':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n',
  'a chunk ended by LF alone':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n',
  'a chunk longer than its size':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n',
  'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
}

/** Valid requests, one of each kind of framing. Each gets a 200. */
export const GOOD: Readonly<Record<string, string>> = {
  'without a body': 'POST /api/count HTTP/1.1\r\nHost: a\r\n\r\n',
  'with an empty body': 'POST /api/count HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n',
  'with a length': 'POST /api/count HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
  'with a body that looks like a request':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\nPOST /api/count HTTP/1.1\r\nHost: b\r\n\r\n\r\n',
  'in chunks':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'in chunks with a trailer':
    'POST /api/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-T: a\r\n\r\n',
  'to an absolute target': 'POST http://a/api/count HTTP/1.1\r\nHost: a\r\n\r\n',
  'with a port and a literal as Host': 'POST /api/count HTTP/1.1\r\nHost: [::1]:80\r\n\r\n',
}
