// The form that tries a request, loaded when its button is pressed.

/** A test token moves no money, so this browser tab keeps it; a live token is never stored. */
const TOKEN_KEY = 'troco-test-token'

export function showTrial({ method, path, parameters, body, words }) {
  const form = document.createElement('form')
  form.noValidate = true
  const token = addField(form, words.token, {
    type: 'password',
    autocomplete: 'off',
    value: sessionStorage.getItem(TOKEN_KEY) ?? '',
  })
  const warning = Object.assign(document.createElement('p'), {
    className: 'live',
    textContent: words.liveToken,
  })
  const warn = () => {
    warning.hidden = !token.value.trim().startsWith('troco_live_')
  }
  token.addEventListener('input', warn)
  warn()
  form.append(warning)
  const fields = parameters
    .filter(({ name }) => name !== undefined)
    .map(({ name, in: place, example }) => ({
      name,
      place,
      input: addField(form, name, {
        type: 'text',
        autocomplete: 'off',
        placeholder: String(example ?? ''),
      }),
    }))
  const text = body === undefined ? null : addBody(form, words.body, body)
  const button = Object.assign(document.createElement('button'), { textContent: words.send })
  const output = document.createElement('div')
  output.setAttribute('role', 'status')
  form.append(button, output)
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const secret = token.value.trim()
    const problem = findProblem(words, { secret, path, fields, text })
    if (problem) return showMessage(output, problem)
    if (secret.startsWith('troco_test_')) sessionStorage.setItem(TOKEN_KEY, secret)
    button.disabled = true
    showMessage(output, words.sending)
    await send({ method, path, fields, secret, text, words, output })
    button.disabled = false
  })
  return form
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
    const received = await response.text()
    const ms = Math.round(performance.now() - startedAt)
    showResponse(output, response, received, words, ms)
  } catch {
    showMessage(output, words.unreachable)
  }
}

function showMessage(output, message) {
  output.replaceChildren(Object.assign(document.createElement('p'), { textContent: message }))
}

function showResponse(output, response, received, words, ms) {
  const status = `${response.status} ${response.headers.get('x-error-code') ?? ''}`.trim()
  showMessage(output, words.elapsed.replace('{status}', status).replace('{ms}', String(ms)))
  output.firstChild.className = response.ok ? 'good' : 'bad'
  const block = document.createElement('pre')
  block.tabIndex = 0
  const code = document.createElement('code')
  code.textContent = prettify(received)
  block.append(code)
  output.append(block)
}

function prettify(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
