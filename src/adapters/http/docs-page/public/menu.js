/** Opens and closes the navigation of a narrow screen. Escape closes it and returns the focus to its button. */
export function connectMenu() {
  const button = document.getElementById('menu')
  const navigation = document.getElementById('navigation')
  const main = document.querySelector('main')
  const isOpen = () => button.getAttribute('aria-expanded') === 'true'
  const setOpen = (open) => {
    button.setAttribute('aria-expanded', open)
    navigation.classList.toggle('open', open)
    // The menu covers it.
    main.inert = open
  }
  button.addEventListener('click', () => setOpen(!isOpen()))
  navigation.addEventListener('click', ({ target }) => {
    if (target.closest('a') !== null) setOpen(false)
  })
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !isOpen()) return
    setOpen(false)
    button.focus()
  })
  matchMedia('(max-width: 48rem)').addEventListener('change', () => setOpen(false))
}
