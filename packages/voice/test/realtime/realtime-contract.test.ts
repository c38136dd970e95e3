import { createRegistry } from '@svc/registry'
import { voiceContract } from '../../src/testing/voice-contract.ts'
import { VoiceAgent } from '@svc/voice'
import t from 'tap'
import { startRealtimeServer } from '../helpers/realtime/realtime-server.ts'

t.setTimeout(20_000)

voiceContract(t, async ({ reply }) => {
  const ends: (() => unknown)[] = []
  const server = await startRealtimeServer(
    { teardown: (end) => void ends.push(end) },
    { reply: ({ text }) => ({ text: reply(text) }) }
  )
  const voice = new VoiceAgent({ name: 'live', registry: createRegistry(), model: server.model })
  return {
    voice,
    close() {
      for (const end of ends) end()
    }
  }
})
