/**
 * Injects markup like an attacker with write access to the page. Returns whether the script ran, and how a heading is
 * displayed.
 */
function plantMarkup() {
  const script = document.createElement('script')
  try {
    script.append('globalThis.ran = true')
    document.body.append(script)
  } catch {}
  const style = document.createElement('style')
  style.append('h1 { display: none }')
  document.body.append(style)
  return [globalThis.ran ?? false, getComputedStyle(document.querySelector('h1')).display]
}

/** Accessibility problems for users of screen readers and keyboards. */
function faultsOfAccess() {
  const all = (selector) => [...document.querySelectorAll(selector)]
  const ids = all('[id]').map(({ id }) => id)
  return {
    unnamed: all('input, textarea').filter(({ labels }) => (labels[0]?.textContent ?? '') === '').length,
    silent: all('button, a').filter(({ textContent }) => textContent.trim() === '').length,
    twice: ids.filter((id, at) => ids.indexOf(id) !== at),
    dead: all('nav li a').filter((link) => document.querySelector(link.getAttribute('href')) === null).length,
  }
}

/** WCAG 2.2, 1.4.3: the contrast of a text with the nearest opaque background. */
function contrastOf(selector) {
  const element = document.querySelector(selector)
  let ground = element
  while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement
  const text = luminance(getComputedStyle(element).color)
  const behind = luminance(getComputedStyle(ground).backgroundColor)
  return (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05)
}

function luminance(color) {
  const [r, g, b] = color.match(/[\d.]+/g).map((part) => {
    const value = Number(part) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** Replaces the secret before a screenshot. */
function hideToken() {
  const element = document.querySelector('#postLogin .response')
  element.textContent = element.textContent.replace(/lk_\w{40}/, `lk_${'x'.repeat(40)}`)
  scrollTo(0, 0)
}

/** The accessible name of the focused element. */
function nameOfFocused() {
  const { labels, textContent } = document.activeElement
  const name = document.activeElement.getAttribute('aria-label') ?? labels?.[0]?.textContent ?? textContent
  return labels?.length || document.activeElement.matches('button, a, input') ? name.trim() : ''
}

/** The number of entries in storage, and the cookies: data that outlives the page. */
function persistedData() {
  return [localStorage.length, sessionStorage.length, document.cookie]
}

Object.assign(globalThis, {
  plantMarkup,
  faultsOfAccess,
  contrastOf,
  hideToken,
  nameOfFocused,
  persistedData,
})
