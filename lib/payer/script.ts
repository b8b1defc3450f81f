import { Html } from '#lib/core/html.ts'

/** Copies the code, counts down, and polls; a changed state of the charge replaces the content. */
export const SCRIPT = new Html(`
(() => {
  const by = id => document.getElementById(id)
  const said = by('said'), lost = by('lost')
  let page = by('page'), ends = 0, looks = 0, failures = 0, clock, next
  const two = number => String(number).padStart(2, '0')
  const left = () => Math.max(0, Math.ceil((ends - Date.now()) / 1000))

  const count = () => {
    const shown = by('left'), s = left()
    if (!shown) return
    const days = Math.floor(s / 86400)
    const time = [s / 3600 % 24, s / 60 % 60, s % 60].map(part => two(Math.floor(part))).join(':')
    shown.textContent = days ? page.dataset.days.replace('{days}', days).replace('{time}', time) : time
    if (s > 0) clock = setTimeout(count, 1000 - (Date.now() - ends + 1e13) % 1000)
    else look()
  }

  const write = async text => {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      getSelection().selectAllChildren(by('code'))
      return document.execCommand('copy')
    }
  }

  const copy = async () => {
    const label = by('label'), words = label.textContent
    const isDone = await write(by('code').textContent)
    said.textContent = isDone ? page.dataset.copied : page.dataset.failed
    if (!isDone) return by('how').textContent = page.dataset.failed
    label.textContent = page.dataset.copied
    setTimeout(() => {
      label.textContent = page.dataset.copy
      said.textContent = ''
    }, 2000)
  }

  const renew = async () => {
    const answer = await fetch(location.href, { cache: 'no-store' })
    if (!answer.ok) throw answer
    // The rest holds another nonce's styles, which this page's policy would refuse.
    const [text] = /<main[^]*<\\/main>/.exec(await answer.text())
    const fresh = new DOMParser().parseFromString(text, 'text/html')
    const hadFocus = page.contains(document.activeElement)
    const middle = document.adoptNode(fresh.getElementById('page'))
    page.replaceWith(middle)
    page = middle
    document.title = page.dataset.title
    said.textContent = page.dataset.said
    if (hadFocus) page.focus()
    begin()
  }

  const look = async () => {
    clearTimeout(next)
    if (!document.hidden) {
      try {
        const address = new URL(location.href)
        address.searchParams.set('state', '')
        const answer = await fetch(address, { cache: 'no-store' })
        if (!answer.ok) throw answer
        if ((await answer.json()).state !== page.dataset.state) await renew()
        failures = 0
      } catch {
        failures++
      }
      lost.hidden = failures < 2
      looks++
    }
    plan()
  }

  const plan = () => {
    clearTimeout(next)
    const seconds = Number(page.dataset.poll)
    if (seconds) next = setTimeout(look, seconds * (looks > 100 || failures > 2 ? 3000 : 1000))
  }

  const begin = () => {
    clearTimeout(clock)
    ends = Date.now() + page.dataset.left * 1000
    if (by('copy')) by('copy').onclick = copy
    count()
    plan()
  }

  const returned = () => { if (!document.hidden && page.dataset.poll !== '0') look() }
  document.addEventListener('visibilitychange', returned)
  addEventListener('pageshow', event => { if (event.persisted) returned() })
  begin()
})()
`)
