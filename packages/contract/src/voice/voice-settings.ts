import { Type } from '@sinclair/typebox'
import { ClientToolsSchema } from '../client-tool.ts'
import { InstructionsSchema } from '../run-body.ts'
import type { AudioFormat, VoiceSettings, VoiceTurnSettings } from './voice.ts'

const strict = { additionalProperties: false } as const
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const milliseconds = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }))

// Loose: `requireAudioFormat` names the formats in its error.
const AskedFormatSchema = Type.Unsafe<AudioFormat>(
  Type.Object(
    {
      type: Type.String({
        maxLength: 64,
        description: '`audio/pcm` (16-bit little-endian), `audio/pcmu` or `audio/pcma`; one channel'
      }),
      rate: Type.Number({ description: 'Hz: 8,000 to 48,000; with G.711 8,000' })
    },
    { ...strict, title: 'AudioFormat' }
  )
)

/** The schema of `VoiceTurnSettings`. */
const VoiceTurnSettingsSchema = Type.Unsafe<VoiceTurnSettings>(
  Type.Object(
    {
      detect: flag('False: only a commit ends a turn'),
      threshold: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'Probability from which a frame counts as speech'
        })
      ),
      silence: milliseconds(60_000, 'Milliseconds of silence that end a turn'),
      prefix: milliseconds(10_000, 'Milliseconds before the detected start that belong to the turn'),
      respond: flag('Whether a turn is answered without being asked for'),
      interrupt: flag('Whether speech interrupts an answer')
    },
    strict
  )
)

/** The schema of `VoiceSettings`; the formats are checked by the call. */
export const VoiceSettingsSchema = Type.Unsafe<VoiceSettings>(
  Type.Object(
    {
      input: Type.Optional(AskedFormatSchema),
      output: Type.Optional(AskedFormatSchema),
      modality: Type.Optional(Type.Union([Type.Literal('audio'), Type.Literal('text')])),
      voice: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      instructions: Type.Optional(InstructionsSchema),
      tools: Type.Optional(ClientToolsSchema),
      turns: Type.Optional(VoiceTurnSettingsSchema)
    },
    { ...strict, title: 'VoiceSettings', description: 'What is absent is as the agent has it' }
  )
)
