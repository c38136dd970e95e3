import t from 'tap'
import { AudioIntake } from '../../src/calls/live-call.ts'
import { requireAudioFormat } from '@svc/contract'

const PCM = { type: 'audio/pcm', rate: 24_000 } as const
/** 100 ms. */
const FRAME = new Uint8Array(4_800)

t.test('formats: PCM of 8 to 48 kHz and G.711; anything else is named in the error', async (t) => {
  t.same(requireAudioFormat(), PCM)
  for (const rate of [8_000, 16_000, 44_100, 48_000])
    t.same(requireAudioFormat({ type: 'audio/pcm', rate }), { type: 'audio/pcm', rate })
  t.same(requireAudioFormat({ type: 'audio/pcmu', rate: 8_000 }), { type: 'audio/pcmu', rate: 8_000 })
  for (const format of [
    { type: 'audio/pcma', rate: 16_000 },
    { type: 'audio/pcm', rate: 48_001 },
    { type: 'audio/pcm', rate: 8_000.5 },
    { type: 'audio/pcm' },
    { type: 'audio/opus', rate: 48_000 },
    { type: 'audio/pcm', rate: 24_000, channels: 2 },
    'audio/pcm',
    null
  ])
    t.throws(() => requireAudioFormat(format), { code: 'VOICE_ERR_BAD_FORMAT' }, JSON.stringify(format))
  t.throws(() => requireAudioFormat({ type: 'audio/opus', rate: 1 }), { message: /audio\/opus at 1 Hz/ })
})

t.test('frames: whole samples, binary, not empty, at most 64 KiB', async (t) => {
  const intake = new AudioIntake(PCM)
  intake.take(new Uint8Array(65_536), 0)
  t.throws(() => intake.take(new Uint8Array(65_538), 0), { code: 'VOICE_ERR_FRAME_TOO_LARGE' })
  for (const frame of [new Uint8Array(0), new Uint8Array(3), 'text', new ArrayBuffer(2), undefined])
    t.throws(() => intake.take(frame, 0), { code: 'VOICE_ERR_BAD_FRAME' })
  intake.format = { type: 'audio/pcmu', rate: 8_000 }
  intake.take(new Uint8Array(3), 0)
})

t.test('audio may come at twice real time over 5 seconds, in any distribution', async (t) => {
  for (const burst of [1, 10, 100]) {
    const intake = new AudioIntake(PCM)
    let ms = 0
    // Twice real time, for a minute.
    for (let sent = 0; sent < 1_200; sent++) {
      if (sent % burst === 0) ms = sent * 50
      intake.take(FRAME, 1_000_000 + ms)
    }
  }
  const intake = new AudioIntake(PCM)
  for (let sent = 0; sent < 100; sent++) intake.take(FRAME, 7_000)
  t.throws(() => intake.take(FRAME, 7_000), { code: 'VOICE_ERR_TOO_FAST' })
  t.throws(() => intake.take(FRAME, 11_400), { code: 'VOICE_ERR_TOO_FAST' })
  intake.take(FRAME, 12_000)
})

t.test('what is refused does not count: a client that slows down is accepted again', async (t) => {
  const intake = new AudioIntake(PCM)
  let taken = 0
  // Three times real time, for 20 seconds.
  for (let sent = 0; sent < 600; sent++) {
    try {
      intake.take(FRAME, (sent * 100) / 3)
      taken++
    } catch {
      // It was too fast.
    }
  }
  t.ok(taken >= 350 && taken <= 450, `${taken} of 600 frames`)
  intake.take(FRAME, 25_500)
})
