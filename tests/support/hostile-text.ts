/** Characters that readers take for a line end, and escape sequences that a terminal executes. */
export const HOSTILE: readonly string[] = [
  ...Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(0x7f + code)),
  '\u2028',
  '\u2029',
  '\r\n{"level":"info","event":"forged"}\r\n',
  '\u001b[2J\u001b[31m',
  '\u009b2J',
  '\u001b]0;title\u0007',
  '\ud83e',
  '"',
  '\\',
]
