import { element, routeName, styled } from './element.js'

/** Shows the routes by group, filtered by the search. Returns the links by operation id. */
export function showNavigation(groups) {
  const shown = groups.map(groupEntry)
  document.getElementById('index').replaceChildren(...shown.map(({ details }) => details))
  connectSearch(shown)
  const entries = shown.flatMap((group) => group.entries)
  return new Map(entries.map(({ id, link }) => [id, link]))
}

function groupEntry({ tag, operations }) {
  const entries = operations.map(routeEntry)
  const summary = element('summary', {}, `${tag} `, styled('span', 'count', entries.length))
  const items = entries.map(({ item }) => item)
  return { details: element('details', { open: true }, summary, element('ul', {}, items)), entries }
}

function routeEntry(operation) {
  const { id, path, method, tag, summary = '' } = operation
  const link = element('a', { href: `#${id}`, title: summary }, routeName(operation))
  const text = `${method} ${path} ${summary} ${tag} ${id}`.toLowerCase()
  return { id, link, text, item: element('li', {}, link) }
}

function connectSearch(groups) {
  const search = document.getElementById('search')
  search.addEventListener('input', () => filter(groups, search.value))
  search.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter')
      groups
        .flatMap(({ entries }) => entries)
        .find(({ item }) => !item.hidden)
        ?.link.click()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target.matches('input, textarea, select')) return
    event.preventDefault()
    search.focus()
  })
}

/** Shows the routes that contain every word of the text. */
function filter(groups, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  for (const { details, entries } of groups) {
    for (const entry of entries) entry.item.hidden = !words.every((word) => entry.text.includes(word))
    details.hidden = entries.every(({ item }) => item.hidden)
    if (words.length > 0) details.open = true
  }
  const all = groups.flatMap(({ entries }) => entries)
  const count = all.filter(({ item }) => !item.hidden).length
  document.getElementById('found').textContent = words.length === 0 ? '' : `${count} of ${all.length} routes`
}
