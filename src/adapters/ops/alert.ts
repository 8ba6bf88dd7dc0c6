/** An alert, with what an operator needs to know about it. */
export interface Alert {
  /** `page`: requests or records are being lost, act now. `ticket`: act within days. */
  readonly severity: 'page' | 'ticket'
  /** The condition in a few words, and its effect in a sentence. */
  readonly title: string
  readonly effect: string
  /** Where to look for the cause, and what to do. */
  readonly check: string
  readonly action: string
}

/** Returns an alert that needs a person now. */
export function pageAlert(title: string, effect: string, check: string, action: string): Alert {
  return { severity: 'page', title, effect, check, action }
}

/** Returns an alert that can wait for days. `action` defaults to `check`, for one that refers to another alert. */
export function ticketAlert(title: string, effect: string, check: string, action = check): Alert {
  return { severity: 'ticket', title, effect, check, action }
}
