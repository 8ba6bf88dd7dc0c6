/** The mails that one address may cause: 3 an hour to one e-mail, and 20 an hour to all. */
export const MAIL_LIMITS = {
  loginLimitAccount: { failures: 3, windowMs: 3_600_000 },
  loginLimitAddress: { failures: 20, windowMs: 3_600_000 },
} as const
