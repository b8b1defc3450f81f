// The form that tries a request, loaded when its button is pressed.

/** A test token moves no money, so this browser tab keeps it; a live token is never stored. */
const TOKEN_KEY = 'troco-test-token'
const KEY_HEADER = 'Idempotency-Key'

export function showTrial({ method, path, parameters, body, words }) {
  const form = document.createElement('form')
  form.noValidate = true
  const token = addField(form, words.token, {
    // Browsers offer to save what a password field holds: the style masks this one.
    className: 'secret',
    type: 'text',
    autocomplete: 'off',
    value: sessionStorage.getItem(TOKEN_KEY) ?? '',
  })
  const warning = Object.assign(document.createElement('p'), {
    className: 'live',
    textContent: words.liveToken,
  })
  const warn = () => {
    warning.hidden = method === 'GET' || !token.value.trim().startsWith('troco_live_')
  }
  token.addEventListener('input', warn)
  warn()
  form.append(warning)
  const fields = parameters.map(({ name, in: place, example }) => ({
    name,
    place,
    input: addField(form, name, {
      type: 'text',
      autocomplete: 'off',
      placeholder: String(example ?? ''),
      value: name === KEY_HEADER ? makeKey() : '',
    }),
  }))
  const text = body === undefined ? null : addBody(form, words.body, body)
  const button = Object.assign(document.createElement('button'), { textContent: words.send })
  const output = document.createElement('div')
  output.setAttribute('role', 'status')
  form.append(button, output)
  const key = fields.find(({ name }) => name === KEY_HEADER)?.input
  const succeed = key ? renewAfterChange(form, key, token) : () => {}
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const secret = token.value.trim()
    const problem = findProblem(words, { secret, path, fields, text })
    if (problem) return showMessage(output, problem)
    if (secret.startsWith('troco_test_')) sessionStorage.setItem(TOKEN_KEY, secret)
    button.disabled = true
    showMessage(output, words.sending)
    const isOk = await send({ method, path, fields, secret, text, words, output })
    if (isOk) succeed()
    button.disabled = false
  })
  return form
}

/** A lost response is asked for again with the same key: only another request gets a new one. */
function renewAfterChange(form, key, token) {
  let hasSucceeded = false
  form.addEventListener('input', ({ target }) => {
    if (!hasSucceeded || target === token) return
    hasSucceeded = false
    if (target !== key) key.value = makeKey()
  })
  return () => {
    hasSucceeded = true
  }
}

/** `crypto.randomUUID` is missing on servers that are reached without https. */
function makeKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

function addField(form, name, attributes) {
  const label = document.createElement('label')
  const input = Object.assign(document.createElement('input'), { spellcheck: false, ...attributes })
  label.append(name, input)
  form.append(label)
  return input
}

function addBody(form, name, body) {
  const label = document.createElement('label')
  const value = JSON.stringify(body, null, 2)
  const area = Object.assign(document.createElement('textarea'), {
    value,
    spellcheck: false,
    rows: Math.min(16, value.split('\n').length + 1),
  })
  label.append(name, area)
  form.append(label)
  return area
}

function findProblem(words, { secret, path, fields, text }) {
  if (!secret) return words.tokenMissing
  const missing = fields.find(
    ({ name, place, input }) =>
      place === 'path' && path.includes(`{${name}}`) && !input.value.trim(),
  )
  if (missing) return words.pathMissing.replace('{name}', missing.name)
  try {
    if (text) JSON.parse(text.value)
    return null
  } catch (error) {
    return words.invalidJson.replace('{problem}', error.message)
  }
}

async function send({ method, path, fields, secret, text, words, output }) {
  const filled = fields.filter(({ input }) => input.value.trim())
  const of = place => filled.filter(field => field.place === place)
  const url = of('path').reduce(
    (address, { name, input }) =>
      address.replace(`{${name}}`, encodeURIComponent(input.value.trim())),
    `/api${path}`,
  )
  const query = new URLSearchParams(
    of('query').map(({ name, input }) => [name, input.value.trim()]),
  )
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(text ? { 'content-type': 'application/json' } : {}),
    ...Object.fromEntries(of('header').map(({ name, input }) => [name, input.value.trim()])),
  }
  const startedAt = performance.now()
  try {
    const address = query.size > 0 ? `${url}?${query}` : url
    const init = { method, headers, body: text?.value, credentials: 'omit' }
    const response = await fetch(address, init)
    const isImage = response.headers.get('content-type')?.startsWith('image/')
    const received = await (isImage ? response.blob() : response.text())
    const ms = Math.round(performance.now() - startedAt)
    showResponse(output, response, received, words, ms)
    return response.ok
  } catch {
    const hasKey = KEY_HEADER in headers
    showMessage(output, hasKey ? `${words.unreachable} ${words.sameKey}` : words.unreachable)
    return false
  }
}

function showMessage(output, message) {
  output.replaceChildren(Object.assign(document.createElement('p'), { textContent: message }))
}

function showResponse(output, response, received, words, ms) {
  const status = `${response.status} ${response.headers.get('x-error-code') ?? ''}`.trim()
  showMessage(output, words.elapsed.replace('{status}', status).replace('{ms}', String(ms)))
  output.firstChild.className = response.ok ? 'good' : 'bad'
  output.append(received instanceof Blob ? imageOf(received, words) : blockOf(received))
}

function blockOf(received) {
  const block = document.createElement('pre')
  block.tabIndex = 0
  const code = document.createElement('code')
  code.textContent = prettify(received)
  block.append(code)
  return block
}

function imageOf(received, words) {
  const image = Object.assign(new Image(), { alt: words.image, src: URL.createObjectURL(received) })
  image.onload = () => URL.revokeObjectURL(image.src)
  return image
}

function prettify(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
