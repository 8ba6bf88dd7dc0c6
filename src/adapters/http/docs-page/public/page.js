import { showTokenFields } from './authorise.js'
import { markCurrentRoute } from './current-route.js'
import { element, paragraphs } from './element.js'
import { connectMenu } from './menu.js'
import { showNavigation } from './navigation.js'
import { operationView } from './operation.js'
import { groupByTag } from './operations.js'

try {
  const response = await fetch('openapi.json')
  if (!response.ok) throw new Error(`The request for openapi.json failed with ${response.status}.`)
  show(await response.json())
} catch (error) {
  byId('description').replaceChildren(`The document cannot be read. ${error.message}`)
}

function show(api) {
  showProgram(api.info, api.servers[0].url)
  showTokenFields(Object.keys(api.components.securitySchemes))
  const groups = groupByTag(api)
  byId('operations').append(...groups.map((group) => groupView(api, group)))
  const links = showNavigation(groups)
  connectMenu()
  markCurrentRoute(links)
}

function showProgram({ title, version, description = '' }, serverUrl) {
  document.title = `${title} ${version}`
  byId('title').textContent = title
  byId('brand').textContent = title
  byId('version').textContent = version
  byId('version').hidden = false
  byId('server').replaceChildren(element('code', { textContent: serverUrl }))
  byId('description').replaceChildren(...paragraphs(description))
}

function groupView(api, { tag, operations }) {
  return element(
    'details',
    { className: 'group', open: true },
    element('summary', {}, element('h2', { textContent: tag })),
    operations.map((operation) => operationView(api, operation)),
  )
}

function byId(id) {
  return document.getElementById(id)
}
