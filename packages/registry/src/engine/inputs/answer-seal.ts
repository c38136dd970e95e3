import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  withoutSecret,
  type InputOutcome,
  type RunStore,
  type StoredInput,
  type StoredRun
} from '@svc/contract'

const ALGORITHM = { alg: 'ECDH-ES', enc: 'A256GCM' } as const

/**
 * The key pair of one process. Only the process that has a run knows the caller's keys, so only it can redact them from an answer: other
 * processes encrypt what they store of one. Credentials are encrypted too, until the process that has their run takes them.
 */
export class AnswerSeal {
  #pair: { publicKey: string; privateKey: KeyObject } | undefined

  /** The key to which other processes encrypt: a JWK as JSON. */
  get publicKey(): string {
    return this.#keys.publicKey
  }

  /** The answer as it was given; undefined if it was sealed for another process or input. */
  async open(inputId: string, { sealed = '' }: InputOutcome): Promise<InputOutcome | undefined> {
    const { compactDecrypt } = await import('jose')
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(sealed, this.#keys.privateKey)
      if (protectedHeader.kid !== inputId) return undefined
      return JSON.parse(new TextDecoder().decode(plaintext)) as InputOutcome
    } catch {
      return undefined
    }
  }

  get #keys() {
    if (this.#pair === undefined) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      this.#pair = { publicKey: JSON.stringify(publicKey.export({ format: 'jwk' })), privateKey }
    }
    return this.#pair
  }
}

/** Encrypts all of an answer but its action, if there is more. @param publicKey as in `AnswerSeal` */
export async function sealAnswer(
  inputId: string,
  answer: InputOutcome,
  publicKey: string
): Promise<InputOutcome> {
  const { action, content, reason, secret } = answer
  if (content === undefined && reason === undefined) return answer
  // Loaded lazily: few services need it.
  const { CompactEncrypt } = await import('jose')
  const sealed = await new CompactEncrypt(Buffer.from(JSON.stringify(answer)))
    .setProtectedHeader({ ...ALGORITHM, kid: inputId })
    .encrypt(JSON.parse(publicKey))
  return { action, sealed, ...(secret && { secret }) }
}

/**
 * The answer to an input of a run that this process has. What is sealed is replaced in the store by what it says; null if it was sealed for
 * a process that is gone: the input then waits again.
 * @param runs redacts the caller's keys, if this process has them
 */
export async function openAnswer(
  { seal, runs }: { readonly seal: AnswerSeal; readonly runs: RunStore },
  inputId: string,
  answer: InputOutcome
): Promise<InputOutcome | null> {
  if (answer.sealed === undefined) return answer
  const opened = (await seal.open(inputId, answer)) ?? null
  const sealKey = opened === null && answer.secret ? seal.publicKey : undefined
  await runs.replaceAnswer(inputId, answer, opened && withoutSecret(opened), sealKey)
  return opened
}

/** The inputs of a run with their answers opened; from now on pending credentials are encrypted for this process. */
export async function openAnswers(
  host: Parameters<typeof openAnswer>[0],
  { inputs }: Pick<StoredRun, 'inputs'>
): Promise<StoredRun['inputs']> {
  if (inputs.every(({ answer, kind }) => kind !== 'auth' && answer?.sealed === undefined)) return inputs
  return Promise.all(
    inputs.map(async (input) => {
      await renewSealKey(host, input)
      return { ...input, answer: input.answer && (await openAnswer(host, input.inputId, input.answer)) }
    })
  )
}

async function renewSealKey(
  { seal, runs }: Parameters<typeof openAnswer>[0],
  { inputId, kind, answer, sealKey }: StoredInput
): Promise<void> {
  if (kind !== 'auth' || answer !== null || sealKey === undefined || sealKey === seal.publicKey) return
  await runs.replaceAnswer(inputId, null, null, seal.publicKey)
}
