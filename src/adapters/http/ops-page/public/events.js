import { element } from './element.js'

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })

const MAX_LISTED = 20

/** Shows the events as a list, newest first, and as marks on a strip that covers the time of the charts. */
export function showEvents(list, strip, events, [from, to]) {
  const names = events.map(({ at_ms, title }) => `${at_ms} ${title}`).join()
  if (list.dataset.names !== names) {
    list.dataset.names = names
    list.replaceChildren(
      ...events
        .slice(-MAX_LISTED)
        .toReversed()
        .map(({ at_ms, title, kind }) =>
          element(
            'li',
            { className: kind },
            element('time', { textContent: TIME.format(at_ms), dateTime: new Date(at_ms).toISOString() }),
            ' ',
            title,
          ),
        ),
    )
  }
  const marks = events
    .map((event) => ({ ...event, at: (event.at_ms / 1000 - from) / (to - from) }))
    .filter(({ at }) => at >= 0 && at <= 1)
  strip.replaceChildren(
    ...marks.map(({ at_ms, title, kind, at }) => {
      const mark = element('span', { className: `mark ${kind}`, title: `${TIME.format(at_ms)} ${title}` })
      mark.style.left = `${100 * at}%`
      return mark
    }),
  )
}
