// Theme, tabs of samples, copying, search and the form that tries a request. Pages are readable without.

/** Names of cookies that the dashboard reads, too. */
const THEME_COOKIE = 'troco-theme'
const LOCALE_COOKIE = 'troco-locale'
const SAMPLE_KEY = 'troco-sample'
const RESULTS_MAX = 12

applyTheme(readCookie(THEME_COOKIE))

document.addEventListener('DOMContentLoaded', () => {
  wireTheme(document.querySelector('[data-theme-switch]'))
  for (const link of document.querySelectorAll('[data-locale]')) {
    link.addEventListener('click', () => writeCookie(LOCALE_COOKIE, link.dataset.locale))
  }
  for (const samples of document.querySelectorAll('.samples')) makeTabs(samples)
  for (const block of document.querySelectorAll('pre')) addCopyButton(block)
  wireSearch(document.querySelector('form[role=search]'))
  wireTrial(document.querySelector('.trial'))
  document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest' })
})

function readCookie(name) {
  const pair = document.cookie.split('; ').find(one => one.startsWith(`${name}=`))
  return pair?.slice(name.length + 1)
}

function writeCookie(name, value) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in older Safaris
  document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`
}

function applyTheme(theme) {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}

function wireTheme(button) {
  button.hidden = false
  button.addEventListener('click', () => {
    const { theme } = document.documentElement.dataset
    const isDark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    const next = isDark ? 'light' : 'dark'
    writeCookie(THEME_COOKIE, next)
    applyTheme(next)
  })
}

/** Shows one sample at a time. The chosen language holds for all samples and pages. */
function makeTabs(samples) {
  const panels = [...samples.children]
  if (panels.length < 2) return
  const list = document.createElement('div')
  list.setAttribute('role', 'tablist')
  const tabs = panels.map((panel, index) => {
    const tab = document.createElement('button')
    const id = `${panel.dataset.label}-${[...document.querySelectorAll('.samples')].indexOf(samples)}`
    Object.assign(tab, { type: 'button', textContent: panel.dataset.label, id: `tab-${id}` })
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-controls', `panel-${id}`)
    panel.id = `panel-${id}`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', tab.id)
    panel.querySelector('p').hidden = true
    tab.addEventListener('click', () => chooseSample(panel.dataset.label))
    tab.addEventListener('keydown', event => {
      const next = tabs.at(
        { ArrowRight: (index + 1) % tabs.length, ArrowLeft: index - 1, Home: 0, End: -1 }[
          event.key
        ] ?? index,
      )
      if (next === tab) return
      event.preventDefault()
      next.click()
      next.focus()
    })
    return tab
  })
  list.append(...tabs)
  samples.prepend(list)
  showSample(samples, readChoice())
}

/** Browsers that block cookies throw on every use of their storage. */
function readChoice() {
  try {
    return localStorage.getItem(SAMPLE_KEY)
  } catch {
    return null
  }
}

function chooseSample(label) {
  try {
    localStorage.setItem(SAMPLE_KEY, label)
  } catch {
    // The choice holds for this page only.
  }
  for (const samples of document.querySelectorAll('.samples')) showSample(samples, label)
}

function showSample(samples, label) {
  const panels = [...samples.querySelectorAll('.sample')]
  const shown = panels.find(panel => panel.dataset.label === label) ?? panels[0]
  for (const panel of panels) panel.hidden = panel !== shown
  for (const tab of samples.querySelectorAll('[role=tab]')) {
    const isShown = tab.getAttribute('aria-controls') === shown.id
    tab.setAttribute('aria-selected', String(isShown))
    tab.tabIndex = isShown ? 0 : -1
  }
}

function addCopyButton(block) {
  const { copy, copied } = document.body.dataset
  const button = document.createElement('button')
  Object.assign(button, { type: 'button', className: 'copy', textContent: copy })
  button.addEventListener('click', async () => {
    const code = block.querySelector('code')
    try {
      await navigator.clipboard.writeText(code.textContent)
    } catch {
      // Without https, browsers give no access to the clipboard.
      getSelection().selectAllChildren(code)
      return
    }
    button.textContent = copied
    announce(copied)
    setTimeout(() => {
      button.textContent = copy
    }, 2000)
  })
  const frame = Object.assign(document.createElement('div'), { className: 'code' })
  block.replaceWith(frame)
  frame.append(block, button)
}

/** Has screen readers say a text that is seen elsewhere on the page. */
function announce(text) {
  let region = document.querySelector('.announcement')
  if (!region) {
    region = Object.assign(document.createElement('p'), { className: 'announcement' })
    region.setAttribute('role', 'status')
    document.body.append(region)
  }
  region.textContent = text
}

function wireSearch(form) {
  const input = form.querySelector('input')
  const list = form.querySelector('ul')
  let index
  form.hidden = false
  const loadIndex = () => {
    index ??= fetchJson(form.dataset.index).catch(() => {
      index = undefined
    })
    return index
  }
  input.addEventListener('focus', loadIndex)
  input.addEventListener('input', async () => {
    const words = wordsOf(input.value)
    const pages = await loadIndex()
    list.hidden = words.length === 0 || !pages
    if (list.hidden) return
    const found = findPages(pages, words)
    const { none, results } = form.dataset
    list.replaceChildren(...found.map(makeResult))
    if (found.length === 0)
      list.append(Object.assign(document.createElement('li'), { textContent: none }))
    announce(found.length === 0 ? none : results.replace('{count}', String(found.length)))
  })
  form.addEventListener('submit', event => {
    event.preventDefault()
    list.querySelector('a')?.click()
  })
  form.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      input.value = ''
      list.hidden = true
      return
    }
    const links = [input, ...list.querySelectorAll('a')]
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus()
  })
  form.addEventListener('focusout', ({ relatedTarget }) => {
    if (!form.contains(relatedTarget)) list.hidden = true
  })
}

async function fetchJson(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(String(response.status))
  return response.json()
}

/** Entries that contain all words; those with a word in their title come first. */
function findPages(pages, words) {
  const rank = ({ title }) => (words.some(word => foldText(title).includes(word)) ? 0 : 1)
  return pages
    .filter(({ text }) => words.every(word => text.includes(word)))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, RESULTS_MAX)
}

function makeResult({ title, group, url }) {
  const item = document.createElement('li')
  const link = Object.assign(document.createElement('a'), { href: url, textContent: title })
  const place = Object.assign(document.createElement('span'), { textContent: group })
  link.append(place)
  item.append(link)
  return item
}

/** Splits a text as the index does. */
function wordsOf(text) {
  return foldText(text).match(/[\p{L}\p{N}_.:/-]+/gu) ?? []
}

function foldText(text) {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

function wireTrial(section) {
  if (!section) return
  section.hidden = false
  section.querySelector('button').addEventListener('click', async ({ currentTarget }) => {
    currentTarget.disabled = true
    const script = await import(section.dataset.script).catch(() => null)
    currentTarget.disabled = false
    if (!script) return
    const data = JSON.parse(section.querySelector('script').textContent)
    currentTarget.replaceWith(script.showTrial(data))
    section.querySelector('input').focus()
  })
}
