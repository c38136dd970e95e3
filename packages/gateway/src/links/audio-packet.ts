/** Characters; more than any announcement has. */
const MAX_LENGTH = 256
/** As the official client writes it. */
const USUAL = '["voice.audio",{"_placeholder":true,"num":0}]'

/**
 * True if a packet announces audio of a call: the event `voice.audio` with a single attachment as its payload. Only this event may have
 * attachments.
 */
export function announcesAudio(text: string): boolean {
  if (!text.startsWith('51-') || text.length > MAX_LENGTH) return false
  const payload = text.slice(text.indexOf('['))
  return payload === USUAL || isAnnouncement(payload)
}

function isAnnouncement(json: string): boolean {
  try {
    const [event, payload, ...more] = JSON.parse(json) as [unknown, unknown]
    return event === 'voice.audio' && isFirstAttachment(payload) && more.length === 0
  } catch {
    return false
  }
}

function isFirstAttachment(payload: unknown): boolean {
  const { _placeholder: isPlaceholder, num } = (payload ?? {}) as { _placeholder?: unknown; num?: unknown }
  return isPlaceholder === true && num === 0
}
