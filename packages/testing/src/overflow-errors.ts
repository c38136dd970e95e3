/** The providers whose errors for prompts that are too long can be played. */
export type OverflowProvider = 'anthropic' | 'amazon-bedrock' | 'google' | 'mistral' | 'openai' | 'vllm'

/** What a provider answers to a prompt that is too long. */
interface Overflow {
  readonly statusCode: number
  readonly body: (tokens: number, window: number) => object
}

const OVERFLOWS: Readonly<Record<OverflowProvider, Overflow>> = {
  anthropic: {
    statusCode: 400,
    body: (tokens, window) => ({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: `prompt is too long: ${tokens} tokens > ${window} maximum`
      }
    })
  },
  'amazon-bedrock': {
    statusCode: 400,
    body: () => ({ message: 'Input is too long for requested model.' })
  },
  google: {
    statusCode: 400,
    body: (tokens, window) => ({
      error: {
        code: 400,
        message: `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`,
        status: 'INVALID_ARGUMENT'
      }
    })
  },
  mistral: {
    statusCode: 400,
    body: (tokens, window) => ({
      object: 'error',
      message: `Prompt contains ${tokens} tokens and 0 draft tokens, too large for model with ${window} maximum context length`,
      type: 'invalid_request_error',
      code: '3051'
    })
  },
  openai: {
    statusCode: 400,
    body: (tokens, window) => ({
      error: {
        message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded'
      }
    })
  },
  vllm: {
    statusCode: 400,
    body: (tokens, window) => ({
      object: 'error',
      message: `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens (${tokens} in the messages, 0 in the completion).`,
      type: 'BadRequestError',
      param: null,
      code: 400
    })
  }
}

/** The providers of `overflowError`. */
export const OVERFLOW_PROVIDERS = Object.keys(OVERFLOWS) as readonly OverflowProvider[]

/**
 * The error with which the package of a provider rejects a call whose prompt of `tokens` does not fit into `window` tokens.
 */
export function overflowError(provider: OverflowProvider, tokens: number, window: number): Error {
  const { statusCode, body } = OVERFLOWS[provider]
  const data = body(tokens, window)
  const message = (data as { message?: string }).message ?? 'the prompt is too long'
  return Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode,
    data,
    responseBody: JSON.stringify(data),
    isRetryable: false
  })
}
