import { copyable } from './copy.js'
import { element } from './element.js'
import { SAMPLES } from './samples.js'

const LANGUAGES = Object.keys(SAMPLES)
/** Every view shows the same language. */
const views = []
let [chosen] = LANGUAGES

/** Creates the sample of an operation, with a tab for each language. `show` shows another request. */
export function sampleView(id) {
  let request = null
  const tabs = LANGUAGES.map((language) => tab(id, language))
  const panel = copyable('the sample', '', 'sample')
  const text = panel.querySelector('pre')
  panel.id = `${id}-sample`
  panel.setAttribute('role', 'tabpanel')
  const list = element(
    'div',
    { role: 'tablist', className: 'tabs', 'aria-label': 'Language of the sample' },
    tabs,
  )
  list.addEventListener('keydown', (event) => moveFocus(event, tabs))
  views.push(update)
  update()
  return { view: element('div', {}, list, panel), show }

  function show(next) {
    request = next
    update()
  }

  function update() {
    for (const [at, language] of LANGUAGES.entries()) {
      tabs[at].setAttribute('aria-selected', language === chosen)
      tabs[at].tabIndex = language === chosen ? 0 : -1
      if (language === chosen) panel.setAttribute('aria-labelledby', tabs[at].id)
    }
    if (request !== null) text.textContent = SAMPLES[chosen](request)
  }
}

function tab(id, language) {
  return element('button', {
    id: `${id}-${language}`,
    type: 'button',
    role: 'tab',
    className: 'tab',
    'aria-controls': `${id}-sample`,
    textContent: language,
    onclick: () => choose(language),
  })
}

function choose(language) {
  chosen = language
  for (const update of views) update()
}

/** The pattern of tabs: arrow keys select the next tab. */
function moveFocus(event, tabs) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const next = tabs.at((tabs.indexOf(event.target) + step) % tabs.length)
  next.click()
  next.focus()
}
