import { element } from './element.js'
import { ask } from './service.js'

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const byId = (id) => document.getElementById(id)

/** The search for a customer, with the tokens that were found and what ends them; `failed` is told of what goes wrong. */
export function makeCustomerSearch(failed) {
  const told = byId('told')
  const found = byId('found')
  let asked = 0

  byId('search').addEventListener('submit', (event) => {
    event.preventDefault()
    find(byId('email').value)
  })
  return {
    clear() {
      asked++
      byId('search').reset()
      say('')
      found.replaceChildren()
    },
  }

  /** An answer that is late shows nothing over that of a later question. */
  async function find(email, before = '') {
    const turn = ++asked
    try {
      const answer = await ask('customer', { email })
      if (turn !== asked) return
      say(answer.customer === null ? 'Nobody has this e-mail.' : before)
      found.replaceChildren(...(answer.customer === null ? [] : [customerCard(answer)]))
    } catch (error) {
      if (turn === asked) fail(error)
    }
  }

  function customerCard({ customer, tokens, more }) {
    const active = tokens.filter(({ state }) => state === 'active').length
    return element(
      'article',
      { className: 'card', 'aria-labelledby': 'who' },
      element(
        'div',
        { className: 'heading' },
        element('h3', { id: 'who', textContent: customer.name ?? customer.email }),
        button('Revoke all', 'danger', active === 0, () =>
          revoke(customer, 'revoke-all', {}, `Revoke all tokens of ${customer.email}?`),
        ),
      ),
      element(
        'p',
        { className: 'quiet' },
        `${customer.email} · customer since ${shown(customer.created_at)}`,
        customer.disabled_at === null ? '' : ` · disabled ${shown(customer.disabled_at)}`,
      ),
      element('p', {}, element('code', { textContent: customer.id })),
      tokens.length === 0
        ? element('p', { className: 'quiet', textContent: 'No tokens.' })
        : tokenTable(customer, tokens),
      more === 0 ? null : element('p', { className: 'quiet', textContent: `And ${more} older ones.` }),
    )
  }

  // The roles are said, for on a narrow screen the rows are no table to the browser any more.
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
            shown(token.created_at),
            shown(token.last_used_at),
            shown(token.expires_at),
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
    const made = button('Revoke', 'plain', false, () =>
      revoke(customer, 'revoke', { token_id: id }, `Revoke the token “${name}”?`),
    )
    made.setAttribute('aria-label', `Revoke ${name}, ${id}`)
    return made
  }

  async function revoke(customer, path, chosen, question) {
    if (!(await sure(question))) return
    try {
      const { revoked } = await ask(path, { customer_id: customer.id, ...chosen })
      // The button that was pressed will be gone.
      told.focus()
      const tokens = revoked === 1 ? '1 token is' : `${revoked} tokens are`
      await find(customer.email, `${tokens} revoked, on every instance.`)
    } catch (error) {
      fail(error)
    }
  }

  function fail(error) {
    say(error.message, true)
    failed(error)
  }

  function say(text, isBad = false) {
    told.textContent = text
    told.className = isBad ? 'bad' : ''
  }
}

/** Whether the operator means it. */
function sure(question) {
  const dialog = byId('sure')
  byId('question').textContent = question
  byId('consequence').textContent =
    'Whoever uses one that is revoked is refused from then on. It cannot be undone.'
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

function shown(time) {
  return time === null ? 'never' : TIME.format(new Date(time))
}
