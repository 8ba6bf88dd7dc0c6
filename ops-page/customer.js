import { element } from './element.js'
import { ask, Refused } from './service.js'

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const byId = (id) => document.getElementById(id)

/** The search for a customer, with the tokens that were found and what ends them; `failed` is told of what goes wrong. */
export function makeCustomerSearch(failed) {
  const told = byId('told')
  const found = byId('found')
  let asked = 0
  let isRevoking = false

  byId('search').addEventListener('submit', (event) => {
    event.preventDefault()
    find(byId('email').value)
  })
  return {
    clear() {
      asked++
      // Behind a question that is still asked nothing can be reached.
      byId('sure').close()
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
      found.replaceChildren(...(answer.customer === null ? [] : [customerCard(answer)]))
      say(answer.customer === null ? 'Nobody has this e-mail.' : before || countOf(answer))
    } catch (error) {
      if (turn !== asked) return
      // Whoever was shown must not stand below the e-mail of another.
      found.replaceChildren()
      fail(error, before)
    }
  }

  function customerCard({ customer, tokens, more }) {
    const active = activeOf(tokens)
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
      revoke(
        customer,
        'revoke',
        { token_id: id },
        `Revoke the token “${name}” of ${customer.email}?`,
        `It has the id ${id}. `,
      ),
    )
    made.setAttribute('aria-label', `Revoke ${name}, ${id}`)
    return made
  }

  /** What is asked for meanwhile, or a page that was closed, is not taken over by the answer. */
  async function revoke(customer, path, chosen, question, which) {
    if (isRevoking || !(await sure(question, which))) return
    const turn = ++asked
    isRevoking = true
    let done = 'Whether it was done is not known: search again to see.'
    try {
      const { revoked } = await ask(path, { customer_id: customer.id, ...chosen })
      done = `${revoked === 1 ? '1 token is' : `${revoked} tokens are`} revoked, on every instance.`
      if (turn !== asked) return
      say(done)
    } catch (error) {
      if (turn !== asked) return
      found.replaceChildren()
      fail(error, done)
    } finally {
      isRevoking = false
      // The button that was pressed will be gone.
      if (turn === asked) told.focus()
    }
    if (turn === asked && found.hasChildNodes()) await find(customer.email, done)
  }

  /** Tells what is known beside what went wrong. */
  function fail(error, known = '') {
    const problem = error instanceof Refused ? error.message : 'No answer came.'
    say(`${problem} ${known}`.trim(), true)
    failed(error)
  }

  function say(text, isBad = false) {
    told.textContent = text
    told.className = isBad ? 'bad' : ''
  }
}

function activeOf(tokens) {
  return tokens.filter(({ state }) => state === 'active').length
}

function countOf({ tokens }) {
  const active = activeOf(tokens)
  return active === 1 ? '1 active token.' : `${active} active tokens.`
}

/** Whether the operator means it, for this one. */
function sure(question, which) {
  const dialog = byId('sure')
  byId('question').textContent = question
  byId('consequence').textContent =
    `${which}Whoever uses one that is revoked is refused from then on. It cannot be undone.`
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
