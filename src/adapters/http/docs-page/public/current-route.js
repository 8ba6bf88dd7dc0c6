/** The line below the top of the window, in pixels, at which a route is the current one. */
const LINE_PX = 96

/** Marks the link of the route that the window shows, while it scrolls and when the address names a route. */
export function markCurrentRoute(links) {
  const articles = [...links.keys()].map((id) => document.getElementById(id))
  let current = null
  let isScheduled = false
  addEventListener('hashchange', showNamed)
  addEventListener('resize', schedule)
  addEventListener('scroll', schedule, { passive: true })
  document.addEventListener('toggle', schedule, { capture: true })
  // When the page loaded, the element that the address names did not exist yet.
  showNamed()

  function showNamed() {
    const named = document.getElementById(location.hash.slice(1))
    const group = named?.closest('.group') ?? null
    // Not every browser opens it.
    if (group !== null) group.open = true
    named?.scrollIntoView()
    schedule()
  }

  function schedule() {
    if (isScheduled) return
    isScheduled = true
    requestAnimationFrame(() => {
      isScheduled = false
      mark(shownId(articles))
    })
  }

  function mark(id) {
    const link = links.get(id) ?? null
    if (link === current) return
    current?.removeAttribute('aria-current')
    link?.setAttribute('aria-current', 'location')
    link?.scrollIntoView({ block: 'nearest' })
    current = link
  }
}

/** Returns the id of the first route below the line. At the end of the page, that is the named route if it is visible. */
function shownId(articles) {
  const shown = articles.filter((article) => article.closest('.group').open)
  const below = (article, line) => article.getBoundingClientRect().bottom > line
  const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2
  const named = shown.find(({ id }) => id === location.hash.slice(1))
  if (isAtEnd && named !== undefined && below(named, 0)) return named.id
  return isAtEnd && scrollY > 0 ? shown.at(-1)?.id : shown.find((article) => below(article, LINE_PX))?.id
}
