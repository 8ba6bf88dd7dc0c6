import { element } from './element.js'

const CALLERS = { loginToken: 'Login token', serviceToken: 'Service token' }
const tokens = {}

/** Shows a field for the token of each security scheme. */
export function showTokenFields(schemes) {
  document.getElementById('tokens').replaceChildren(...schemes.map(tokenField))
}

/** Returns the name of a security scheme for people. */
export function callerName(scheme) {
  return scheme === null ? 'Anyone' : (CALLERS[scheme] ?? scheme)
}

/** Returns the token of a security scheme; an empty text for none. */
export function tokenFor(scheme) {
  return tokens[scheme] ?? ''
}

/** Enters a login token from a response. */
export function useToken(token) {
  document.querySelector('input[name=loginToken]').value = token
  setToken('loginToken', token)
}

function tokenField(scheme) {
  const input = element('input', {
    name: scheme,
    type: 'password',
    autocomplete: 'off',
    spellcheck: false,
    oninput: () => setToken(scheme, input.value),
  })
  return element('label', {}, callerName(scheme), input)
}

function setToken(scheme, token) {
  tokens[scheme] = token.trim()
  const names = Object.keys(tokens).filter((name) => tokens[name] !== '')
  document.getElementById('authorised').textContent =
    names.length === 0 ? '' : `Requests now send: ${names.map(callerName).join(', ')}.`
}
