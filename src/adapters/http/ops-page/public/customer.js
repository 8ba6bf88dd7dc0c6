import { element } from './element.js'
import { ask, Refused } from './service.js'

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const byId = (id) => document.getElementById(id)

/** Creates the search for a customer, whose tokens it shows and can revoke. Calls `failed` with each error. */
export function createCustomerSearch(failed) {
  const message = byId('message')
  const found = byId('found')
  let lastTurn = 0
  let isRevoking = false

  byId('search').addEventListener('submit', (event) => {
    event.preventDefault()
    find(byId('email').value)
  })
  return {
    clear() {
      lastTurn++
      // An open dialog would block the page.
      byId('sure').close()
      byId('search').reset()
      say('')
      found.replaceChildren()
    },
  }

  /** A late response does not replace that of a later search. */
  async function find(email, before = '') {
    const turn = ++lastTurn
    try {
      const response = await ask('customer', { email })
      if (turn !== lastTurn) return
      found.replaceChildren(...(response.customer === null ? [] : [customerCard(response)]))
      say(response.customer === null ? 'No customer has this e-mail.' : before || describeCount(response))
    } catch (error) {
      if (turn !== lastTurn) return
      // The earlier customer must not be shown below another e-mail.
      found.replaceChildren()
      fail(error, before)
    }
  }

  function customerCard({ customer, tokens, more }) {
    const active = filterActive(tokens)
    return element(
      'article',
      { className: 'card', 'aria-labelledby': 'who' },
      element(
        'div',
        { className: 'heading' },
        element('h3', { id: 'who', textContent: customer.name ?? customer.email }),
        button('Revoke all', 'danger', active === 0, () =>
          revoke(customer, 'revoke-all', {}, `Revoke all tokens of ${customer.email}?`, ''),
        ),
      ),
      element(
        'p',
        { className: 'quiet' },
        `${customer.email} · customer since ${formatTime(customer.created_at)}`,
        customer.disabled_at === null ? '' : ` · disabled ${formatTime(customer.disabled_at)}`,
      ),
      element('p', {}, element('code', { textContent: customer.id })),
      tokens.length === 0
        ? element('p', { className: 'quiet', textContent: 'No tokens.' })
        : tokenTable(customer, tokens),
      more === 0 ? null : element('p', { className: 'quiet', textContent: `And ${more} older ones.` }),
    )
  }

  // The roles are explicit, because on a narrow screen browsers no longer treat the rows as a table.
  function tokenTable(customer, tokens) {
    const heads = ['Name', 'State', 'Abilities', 'Created', 'Last used', 'Expires', 'Id', 'Action']
    return element(
      'table',
      { role: 'table', 'aria-label': 'Tokens' },
      element(
        'thead',
        { role: 'rowgroup' },
        element(
          'tr',
          { role: 'row' },
          heads.map((textContent) => element('th', { role: 'columnheader', scope: 'col', textContent })),
        ),
      ),
      element(
        'tbody',
        { role: 'rowgroup' },
        tokens.map((token) => {
          const cells = [
            element('strong', { textContent: token.name }),
            element('span', { className: `chip ${token.state}`, textContent: token.state }),
            token.abilities.length === 0
              ? 'none'
              : element('code', { textContent: token.abilities.join(' ') }),
            formatTime(token.created_at),
            formatTime(token.last_used_at),
            formatTime(token.expires_at),
            element('code', { className: 'id', textContent: token.id }),
            token.state === 'active' ? revokeButton(customer, token) : '',
          ]
          return element(
            'tr',
            { role: 'row' },
            cells.map((cell, at) => element('td', { role: 'cell', 'data-head': heads[at] }, cell)),
          )
        }),
      ),
    )
  }

  function revokeButton(customer, { id, name }) {
    const created = button('Revoke', 'plain', false, () =>
      revoke(
        customer,
        'revoke',
        { token_id: id },
        `Revoke the token “${name}” of ${customer.email}?`,
        `It has the id ${id}. `,
      ),
    )
    created.setAttribute('aria-label', `Revoke ${name}, ${id}`)
    return created
  }

  /** The response changes nothing after another search, or after the page was closed. */
  async function revoke(customer, path, chosen, question, which) {
    if (isRevoking || !(await sure(question, which))) return
    const turn = ++lastTurn
    isRevoking = true
    let done = 'The result is unknown. Search again to see it.'
    try {
      const { revoked } = await ask(path, { customer_id: customer.id, ...chosen })
      done = `${revoked === 1 ? '1 token is' : `${revoked} tokens are`} revoked, on every instance.`
      if (turn !== lastTurn) return
      say(done)
    } catch (error) {
      if (turn !== lastTurn) return
      found.replaceChildren()
      fail(error, done)
    } finally {
      isRevoking = false
      // The pressed button will be removed.
      if (turn === lastTurn) message.focus()
    }
    if (turn === lastTurn && found.hasChildNodes()) await find(customer.email, done)
  }

  /** Shows the error, and what is known about the action. */
  function fail(error, known = '') {
    const problem = error instanceof Refused ? error.message : 'The service did not respond.'
    say(`${problem} ${known}`.trim(), true)
    failed(error)
  }

  function say(text, isBad = false) {
    message.textContent = text
    message.className = isBad ? 'bad' : ''
  }
}

function filterActive(tokens) {
  return tokens.filter(({ state }) => state === 'active').length
}

function describeCount({ tokens }) {
  const active = filterActive(tokens)
  return active === 1 ? '1 active token.' : `${active} active tokens.`
}

/** Asks the operator to confirm. */
function sure(question, which) {
  const dialog = byId('sure')
  byId('question').textContent = question
  byId('consequence').textContent =
    `${which}Clients that use a revoked token are refused. This cannot be undone.`
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    byId('no').onclick = () => dialog.close('no')
    byId('yes').onclick = () => dialog.close('yes')
    dialog.onclose = () => resolve(dialog.returnValue === 'yes')
  })
}

function button(textContent, className, disabled, onclick) {
  return element('button', { type: 'button', textContent, className, disabled, onclick })
}

function formatTime(time) {
  return time === null ? 'never' : TIME.format(new Date(time))
}
