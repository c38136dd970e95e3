import { Conversation } from './conversation.js'

/** @typedef {{ model: string, base: string, needsToken: boolean, phrases: string[], missing?: string }} Config */

const LABELS = {
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  over: 'Not connected'
}

/**
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
function find(id, type) {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`no ${id}`)
  return element
}

const button = find('call', HTMLButtonElement)
const label = find('call-label', HTMLElement)
const log = find('log', HTMLElement)
const transcript = find('transcript', HTMLElement)
const notice = find('notice', HTMLElement)
const level = find('level', HTMLMeterElement)
const mute = find('mute', HTMLButtonElement)
const signIn = find('sign-in', HTMLFormElement)
const token = find('token', HTMLInputElement)
const write = find('write', HTMLFormElement)
const text = find('text', HTMLInputElement)
const phraseList = find('phrases', HTMLElement)

/** @type {Conversation | undefined} */
let conversation
/** @type {Map<string, HTMLLIElement>} */
let lines = new Map()

/** @type {import('./conversation.js').View} */
const view = {
  showState(state) {
    document.body.dataset['state'] = state
    find('state', HTMLElement).textContent = LABELS[state]
    const isOver = state === 'over'
    label.textContent = isOver ? 'Call' : 'Hang up'
    write.hidden = isOver
    mute.hidden = isOver
    for (const choice of phraseList.querySelectorAll('button')) choice.disabled = isOver
    if (isOver) {
      conversation = undefined
      mute.setAttribute('aria-pressed', 'false')
    }
  },
  showLevel(value) {
    level.value = value
  },
  showText(itemId, role, words) {
    const line = lines.get(itemId) ?? addLine(itemId, role)
    const last = line.lastChild
    if (last !== null) last.textContent = words
    log.scrollTop = log.scrollHeight
  },
  showCut(itemId, words) {
    view.showText(itemId, 'assistant', words)
    lines.get(itemId)?.classList.add('cut')
  },
  showFault(message) {
    notice.textContent = message
    notice.hidden = message === ''
  }
}

/**
 * @param {string} itemId
 * @param {'user' | 'assistant'} role
 */
function addLine(itemId, role) {
  const line = document.createElement('li')
  const name = document.createElement('b')
  name.textContent = role === 'user' ? 'You' : 'Assistant'
  line.className = role
  line.append(name, document.createElement('span'))
  transcript.append(line)
  lines.set(itemId, line)
  return line
}

/** @param {Config} config */
function start({ model, base, needsToken, phrases, missing }) {
  signIn.hidden = !needsToken
  button.disabled = missing !== undefined
  if (missing !== undefined) view.showFault(missing)
  button.onclick = async () => {
    if (conversation !== undefined) return conversation.hangUp()
    if (needsToken && !signIn.reportValidity()) return
    lines = new Map()
    transcript.replaceChildren()
    view.showFault('')
    const begun = new Conversation({ model, base, token: needsToken ? token.value : '' }, view)
    conversation = begun
    await begun.open().catch((/** @type {Error} */ err) => {
      begun.hangUp()
      view.showFault(err.message)
    })
  }
  find('suggestions', HTMLElement).hidden = phrases.length === 0
  phraseList.append(...phrases.map(suggest))
}

/** @param {string} phrase */
function suggest(phrase) {
  const item = document.createElement('li')
  const choice = document.createElement('button')
  choice.type = 'button'
  choice.disabled = true
  choice.textContent = phrase
  choice.onclick = () => conversation?.write(phrase)
  item.append(choice)
  return item
}

signIn.onsubmit = (event) => {
  event.preventDefault()
  button.click()
}
write.onsubmit = (event) => {
  event.preventDefault()
  conversation?.write(text.value)
  write.reset()
}
mute.onclick = async () => {
  const isMuted = mute.getAttribute('aria-pressed') !== 'true'
  mute.setAttribute('aria-pressed', String(isMuted))
  await (isMuted ? conversation?.mute() : conversation?.unmute())
}
document.onkeydown = ({ key }) => {
  if (key === 'Escape') conversation?.stop()
}

const response = await fetch('config.json')
if (response.ok) start(await response.json())
else view.showFault('The service is not there. Please reload the page.')
