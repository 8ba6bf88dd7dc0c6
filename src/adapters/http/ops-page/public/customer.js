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
    find(byId('text').value.trim())
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
  async function find(search, before = '') {
    const turn = ++lastTurn
    try {
      const response = await ask('customer', { search })
      if (turn !== lastTurn) return
      found.replaceChildren(...(response.customer === null ? [] : [customerCard(response, search)]))
      say(response.customer === null ? describeMiss(search) : before || describeCount(response))
      // On a phone the keyboard covers what is below the field.
      byId('search').scrollIntoView({ block: 'start' })
    } catch (error) {
      if (turn !== lastTurn) return
      // The earlier customer must not be shown below another e-mail.
      found.replaceChildren()
      fail(error, before)
    }
  }

  function customerCard({ customer, login_limits, sessions, active, tokens, more }, search) {
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
      element(
        'div',
        { className: 'limits' },
        element('p', { textContent: describeLimits(login_limits) }),
        button('Unlock', 'plain', false, () => unlock(customer)),
      ),
      sessions.length === 0
        ? element('p', { className: 'quiet', textContent: 'No sessions.' })
        : sessionTable(customer, sessions),
      tokens.length === 0
        ? element('p', { className: 'quiet', textContent: 'No tokens.' })
        : tokenTable(customer, tokens, search.toLowerCase()),
      more === 0
        ? null
        : element('p', { className: 'quiet', textContent: `And ${more} more, of ${more + tokens.length}.` }),
    )
  }

  function sessionTable(customer, sessions) {
    return dataTable(
      'Sessions',
      ['Device', 'Since', 'Last used', 'Expires', 'Id', 'Action'],
      sessions.map((session) => ({
        className: '',
        cells: [
          element('strong', { textContent: session.device ?? 'unnamed' }),
          formatTime(session.created_at),
          formatTime(session.last_used_at),
          formatTime(session.expires_at),
          element('code', { className: 'id', textContent: session.id }),
          revokeButton(customer, { id: session.id, name: 'login' }),
        ],
      })),
    )
  }

  function tokenTable(customer, tokens, sought) {
    return dataTable(
      'Tokens',
      ['Name', 'State', 'Abilities', 'Created', 'Last used', 'Expires', 'Id', 'Action'],
      tokens.map((token) => ({
        className: token.id === sought ? 'sought' : '',
        cells: [
          element('strong', { textContent: token.name }),
          element('span', { className: `chip ${token.state}`, textContent: token.state }),
          token.abilities.length === 0 ? 'none' : element('code', { textContent: token.abilities.join(' ') }),
          formatTime(token.created_at),
          formatTime(token.last_used_at),
          formatTime(token.expires_at),
          element('code', { className: 'id', textContent: token.id }),
          token.state === 'active' ? revokeButton(customer, token) : '',
        ],
      })),
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

  /** Forgets the failed logins. Searches again to show what counts now. */
  async function unlock(customer) {
    const turn = ++lastTurn
    try {
      const { unlocked, revoked } = await ask('unlock', { email: customer.email })
      if (turn !== lastTurn) return
      const ended = revoked === 1 ? '1 session has ended.' : `${revoked} sessions have ended.`
      const done = `The failed logins are forgotten.${revoked === 0 ? '' : ` ${ended}`}`
      await find(customer.email, unlocked ? done : 'The customer was deleted.')
      message.focus()
    } catch (error) {
      if (turn === lastTurn) fail(error)
    }
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

// The roles are explicit, because on a narrow screen browsers no longer treat the rows as a table.
function dataTable(label, heads, rows) {
  return element(
    'table',
    { role: 'table', 'aria-label': label },
    element('caption', { textContent: label }),
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
      rows.map(({ className, cells }) =>
        element(
          'tr',
          { role: 'row', className },
          cells.map((cell, at) => element('td', { role: 'cell', 'data-head': heads[at] }, cell)),
        ),
      ),
    ),
  )
}

function describeMiss(search) {
  return search.includes('@') ? 'No customer has this e-mail.' : 'No customer or token has this ID.'
}

function describeCount({ active }) {
  return active === 1 ? '1 active token.' : `${active} active tokens.`
}

function describeLimits(limits) {
  if (limits === null) return 'Failed logins are counted in memory and cannot be listed.'
  const { failures, locked_addresses, guesses_until } = limits
  if (failures === 0 && guesses_until === null) return 'No failed logins count.'
  return [
    `${failures} failed ${failures === 1 ? 'login counts' : 'logins count'}.`,
    locked_addresses === 0
      ? ''
      : `Logins are refused from ${locked_addresses === 1 ? '1 address' : `${locked_addresses} addresses`}.`,
    guesses_until === null
      ? ''
      : `Until ${formatTime(guesses_until)}, logins are refused from addresses that are new for this account.`,
  ]
    .filter(Boolean)
    .join(' ')
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
