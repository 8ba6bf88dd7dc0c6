import { element, prose } from './element.js'

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const TITLE = 'Latchkey operations'
const place = document.getElementById('verdict')
const header = document.getElementById('top')

/** Shows the worst problem in the header and the title of the tab. Null: the page is closed. */
export function showVerdict(problems) {
  const [worst, ...others] = problems ?? []
  const state =
    problems === null ? '' : worst === undefined ? 'good' : worst.severity === 'page' ? 'bad' : 'warn'
  header.className = state
  document.title = worst === undefined ? TITLE : `${state === 'bad' ? '✖' : '▲'} ${worst.title} – ${TITLE}`
  const text = verdictText(problems, worst, others.length)
  // Changes only what differs, because screen readers read each change out.
  if (place.dataset.text === text) return
  place.dataset.text = text
  place.replaceChildren(text)
  if (worst?.alert !== undefined)
    place.append(' ', element('a', { href: `#${worst.alert}`, textContent: 'Runbook' }))
}

/** Shows the runbook entry of each problem. */
export function showProblems(list, problems) {
  const names = problems.map(({ alert, since_ms }) => `${alert} ${since_ms}`).join()
  if (list.dataset.names === names) return
  list.dataset.names = names
  list.replaceChildren(
    ...problems.map(({ alert, severity, title, since_ms, effect, check, action }) =>
      element(
        'article',
        { className: `card problem ${severity}`, id: alert, 'aria-labelledby': `title-${alert}` },
        element('h2', { id: `title-${alert}`, textContent: title }),
        element('p', {}, `Since ${TIME.format(since_ms)}. `, prose(effect)),
        element(
          'dl',
          {},
          element('div', {}, element('dt', { textContent: 'Look at' }), element('dd', {}, prose(check))),
          element('div', {}, element('dt', { textContent: 'Do' }), element('dd', {}, prose(action))),
          element(
            'div',
            {},
            element('dt', { textContent: 'Alert' }),
            element('dd', {}, element('code', { textContent: alert })),
          ),
        ),
      ),
    ),
  )
}

function verdictText(problems, worst, others) {
  if (problems === null) return ''
  if (worst === undefined) return 'All checks pass.'
  const more = others === 0 ? '' : others === 1 ? ' 1 more below.' : ` ${others} more below.`
  return `${worst.title} since ${TIME.format(worst.since_ms)}. ${worst.effect.replaceAll('`', '')}${more}`
}
