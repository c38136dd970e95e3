import { createGoogleGenerativeAI } from '@ai-sdk/google'
import t from 'tap'
import { KEY, testProvider } from '../helpers/provider-suite.ts'
import type { Answer } from '../helpers/provider-server.ts'

const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 }
const chunk = (parts: object[], finishReason?: string) => ({
  candidates: [
    { content: { role: 'model', parts }, index: 0, ...(finishReason !== undefined && { finishReason }) }
  ],
  usageMetadata
})
const says = (...texts: string[]): Answer =>
  texts.map((text, index) => chunk([{ text }], index === texts.length - 1 ? 'STOP' : undefined))

testProvider(t, {
  takesUrls: false,
  model: (origin) =>
    createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey: KEY })('gemini-2.5-flash'),
  says,
  calls: (name, args) => [chunk([{ functionCall: { name, args } }], 'STOP')],
  json: (_asked, value) => says(JSON.stringify(value)),
  refuses: (code, message) => ({ status: code, json: { error: { code, message, status: 'SOME_ERROR' } } }),
  schemaIn: (body) => {
    const { responseSchema, responseJsonSchema } = body['generationConfig'] as Record<string, unknown>
    return responseJsonSchema ?? responseSchema
  }
})
