import type { Model } from '@svc/runtime'
import type { Env } from '../env.ts'
import { createOfflineModel } from './offline/offline-model.ts'

/** A model with a label for people. */
export interface ChosenModel {
  model: Model
  /** The model's id and where it runs. */
  label: string
}

/** The models used without MODEL. */
const DEFAULT_MODELS = {
  openai: 'gpt-5-mini',
  anthropic: 'claude-haiku-4-5',
  google: 'gemini-flash-latest'
}

/**
 * Chooses the model by the environment: a server with OpenAI's protocol, OpenAI, Anthropic, Google, in this order, else the
 * offline model. A provider's code is loaded only if it is used.
 */
export async function chooseModel(env: Env): Promise<ChosenModel> {
  const { MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY } = env
  if (OPENAI_BASE_URL !== undefined) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const id = MODEL ?? DEFAULT_MODELS.openai
    // Such servers speak chat completions, and most need no key.
    const provider = createOpenAI({ baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY ?? 'none' })
    return { model: provider.chat(id), label: `${id} at ${new URL(OPENAI_BASE_URL).host}` }
  }
  if (OPENAI_API_KEY !== undefined) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const id = MODEL ?? DEFAULT_MODELS.openai
    return { model: createOpenAI({ apiKey: OPENAI_API_KEY })(id), label: `${id} of OpenAI` }
  }
  if (ANTHROPIC_API_KEY !== undefined) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const id = MODEL ?? DEFAULT_MODELS.anthropic
    return { model: createAnthropic({ apiKey: ANTHROPIC_API_KEY })(id), label: `${id} of Anthropic` }
  }
  if (GOOGLE_GENERATIVE_AI_API_KEY !== undefined) {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    const id = MODEL ?? DEFAULT_MODELS.google
    const provider = createGoogleGenerativeAI({ apiKey: GOOGLE_GENERATIVE_AI_API_KEY })
    return { model: provider(id), label: `${id} of Google` }
  }
  return {
    model: createOfflineModel({ delay: env.OFFLINE_DELAY }),
    label: 'offline (built in, needs no key)'
  }
}
