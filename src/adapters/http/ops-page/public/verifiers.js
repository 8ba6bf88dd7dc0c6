import { element } from './element.js'

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })

/** Lists the verifiers that are connected to the process. Hidden when there are none. */
export function showVerifiers(section, list, verifiers) {
  section.hidden = verifiers.length === 0
  list.replaceChildren(
    ...verifiers.map(({ name, last_seen_ms }) =>
      element(
        'li',
        {},
        element('time', {
          textContent: TIME.format(last_seen_ms),
          dateTime: new Date(last_seen_ms).toISOString(),
        }),
        ' ',
        name,
      ),
    ),
  )
}
