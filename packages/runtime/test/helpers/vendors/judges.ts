/** What the vendors' blocks, parts and items may have. */
interface Block {
  readonly type?: string
  readonly role?: string
  readonly id?: string
  readonly name?: string
  readonly text?: string
  readonly content?: string | readonly Block[] | null
  readonly tool_use_id?: string
  readonly call_id?: string
  readonly function?: Named
  readonly functionCall?: Named
  readonly functionResponse?: Named
  readonly toolUse?: Named & { readonly toolUseId: string }
  readonly toolResult?: { readonly toolUseId: string; readonly content: readonly Block[] }
}

interface Named {
  readonly name: string
}

interface Message {
  readonly role: string
  readonly content?: string | readonly Block[] | null
  readonly parts?: readonly Block[]
  readonly tool_calls?: readonly Required<Pick<Block, 'id' | 'function'>>[]
  readonly tool_call_id?: string
}

/** What the vendors' requests may have. */
interface Body {
  readonly messages?: readonly Message[]
  readonly contents?: readonly Message[]
  readonly input?: readonly Block[]
  readonly system?: readonly Block[]
  readonly systemInstruction?: { readonly parts: readonly Block[] }
  readonly tools?: readonly (Partial<Named> & {
    readonly function?: Named
    readonly functionDeclarations?: readonly Named[]
  })[]
  readonly toolConfig?: { readonly tools?: readonly { readonly toolSpec?: Named }[] }
}

/** Says what a vendor refuses in a request; nothing for a good one. */
export type Judge = (body: Body) => string[]

const namesOf = (named: readonly (Partial<Named> | undefined)[] = []) =>
  named.flatMap((each) => each?.name ?? [])
const blocksOf = (content: Block['content']) => (typeof content === 'string' ? [] : (content ?? []))

const isBlank = (text: unknown) => typeof text !== 'string' || text.trim() === ''
const NAME = /^[\w-]{1,64}$/

/** What every vendor's JSON parser refuses: half a surrogate pair. */
export function judgeText(value: unknown, at = '$'): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [`${at}: a lone surrogate`]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => [
    ...judgeText(key, `${at} (a key)`),
    ...judgeText(each, `${at}.${key.toWellFormed()}`)
  ])
}

function judgeNames(names: readonly string[], pattern = NAME): string[] {
  return [
    ...names.filter((name) => !pattern.test(name)).map((name) => `a tool is named "${name}"`),
    ...(new Set(names).size < names.length ? ['two tools have one name'] : [])
  ]
}

function judgeTurns(roles: readonly string[], first: string, last: readonly string[]): string[] {
  return [
    ...(roles.length === 0 ? ['there are no messages'] : []),
    ...(roles.length > 0 && roles[0] !== first ? [`it begins with ${roles[0]}`] : []),
    ...(roles.length > 0 && !last.includes(roles.at(-1)!) ? [`it ends with ${roles.at(-1)}`] : []),
    ...roles.flatMap((role, index) =>
      index > 0 && role === roles[index - 1] ? [`${index}: ${role} twice`] : []
    )
  ]
}

// The calls of one message, and the results in the next one.
function judgePairs(calls: readonly string[], results: readonly string[], at: number): string[] {
  return [
    ...calls.filter((id) => !results.includes(id)).map((id) => `${at}: no result of "${id}"`),
    ...results.filter((id) => !calls.includes(id)).map((id) => `${at}: no call of "${id}"`),
    ...(new Set(results).size < results.length ? [`${at}: two results of one call`] : [])
  ]
}

function judgeCalls(words: readonly string[], pattern: RegExp, at: number): string[] {
  return words.filter((word) => !pattern.test(word)).map((word) => `${at}: a call has "${word}"`)
}

function judgeContent(content: Block['content'], at: number): string[] {
  if (typeof content === 'string') return isBlank(content) ? [`${at}: a blank text`] : []
  const blocks = blocksOf(content)
  if (blocks.length === 0) return [`${at}: no content`]
  return blocks.some(({ text }) => text !== undefined && isBlank(text)) ? [`${at}: a blank text`] : []
}

const rolesOf = (messages: readonly Message[]) => messages.map(({ role }) => role)

const idsOf = (blocks: readonly Block[], field: 'id' | 'call_id' | 'tool_use_id') =>
  blocks.map((block) => block[field] ?? '')

/** Anthropic's Messages API. */
export const judgeMessages: Judge = ({ messages = [], tools, system = [] }) => {
  const faults = [
    ...judgeTurns(rolesOf(messages), 'user', ['user']),
    ...judgeNames(namesOf(tools)),
    ...system.filter(({ text }) => isBlank(text)).map(() => 'system: a blank text')
  ]
  const ids: string[] = []
  let open: string[] = []
  for (const [at, { content }] of messages.entries()) {
    const blocks = blocksOf(content)
    if (blocks.length === 0) faults.push(`${at}: no content`)
    if (blocks.some(({ type, text }) => type === 'text' && isBlank(text))) faults.push(`${at}: a blank text`)
    if (blocks.at(-1)?.type === 'thinking') faults.push(`${at}: it ends with a thought`)
    const results = blocks.filter(({ type }) => type === 'tool_result')
    for (const { content: inner } of results)
      if (
        typeof inner === 'string'
          ? isBlank(inner)
          : blocksOf(inner).some(({ type, text }) => type === 'text' && isBlank(text))
      )
        faults.push(`${at}: a blank result`)
    faults.push(...judgePairs(open, idsOf(results, 'tool_use_id'), at))
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    open = idsOf(calls, 'id')
    faults.push(...judgeCalls([...namesOf(calls), ...open], NAME, at))
    ids.push(...open)
  }
  if (new Set(ids).size < ids.length) faults.push('two calls have one id')
  return faults
}

const GEMINI_NAME = /^[A-Za-z_][\w.-]{0,63}$/

// A user may follow the responses of functions, which are of a user too.
const roleOf = ({ role, parts }: Message) =>
  parts?.some(({ functionResponse }) => functionResponse !== undefined) ? 'tool' : role

/** Gemini's `generateContent`. */
export const judgeContents: Judge = ({ contents = [], tools = [], systemInstruction }) => {
  const faults = [
    ...judgeTurns(contents.map(roleOf), 'user', ['user', 'tool']),
    ...judgeNames(namesOf(tools.flatMap((tool) => tool.functionDeclarations ?? [])), GEMINI_NAME),
    ...(systemInstruction?.parts ?? []).filter(({ text }) => isBlank(text)).map(() => 'system: a blank text')
  ]
  let open = 0
  for (const [at, { parts = [] }] of contents.entries()) {
    if (parts.length === 0) faults.push(`${at}: parts are empty`)
    if (parts.some((part) => Object.keys(part).length === 0)) faults.push(`${at}: an empty part`)
    if (parts.some(({ text }) => text !== undefined && isBlank(text))) faults.push(`${at}: a blank text`)
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined).length
    if (results !== open) faults.push(`${at}: ${open} calls, ${results} results`)
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
    faults.push(...judgeCalls(namesOf(calls), GEMINI_NAME, at))
    open = calls.length
  }
  return faults
}

/** OpenAI's Responses API: calls and results may stand anywhere, but in pairs. */
export const judgeItems: Judge = ({ input = [], tools }) => {
  const calls = input.filter(({ type }) => type === 'function_call')
  const ids = idsOf(calls, 'call_id')
  const results = input.filter(({ type }) => type === 'function_call_output')
  const faults = [
    ...judgeNames(namesOf(tools)),
    ...judgePairs(ids, idsOf(results, 'call_id'), 0),
    ...judgeCalls(namesOf(calls), NAME, 0),
    ...ids.filter((id) => id.length > 64).map((id) => `an id "${id}"`)
  ]
  if (new Set(ids).size < ids.length) faults.push('two calls have one id')
  if (input.length === 0) faults.push('there is no input')
  if (input.at(-1)?.role === 'assistant') faults.push('it ends with an answer')
  for (const [at, { type, role, content }] of input.entries()) {
    const next = input[at + 1]
    if (type === 'reasoning' && next?.type !== 'function_call' && next?.role !== 'assistant')
      faults.push(`${at}: a reasoning without its item`)
    if (role !== undefined) faults.push(...judgeContent(content, at))
  }
  return faults
}

/** Chat Completions as OpenAI and its imitators take it, with the templates of open models: turns alternate. */
export const judgeChat: Judge = ({ messages = [], tools }) => {
  const faults = judgeNames(namesOf(tools?.map((tool) => tool.function)))
  let open: string[] = []
  let last = ''
  for (const [at, message] of messages.entries()) {
    const { role, content, tool_calls: calls = [], tool_call_id: id = '' } = message
    if (role === 'system' || role === 'developer') {
      faults.push(...judgeContent(content, at))
      continue
    }
    if (role === 'tool') {
      if (!open.includes(id)) faults.push(`${at}: no call of "${id}"`)
      if (typeof content !== 'string' || isBlank(content)) faults.push(`${at}: a blank result`)
      open = open.filter((each) => each !== id)
      if (open.length === 0) last = 'tool'
      continue
    }
    if (last === '' && role !== 'user') faults.push(`it begins with ${role}`)
    if (last === role) faults.push(`${at}: ${role} twice`)
    faults.push(...judgePairs(open, [], at))
    if (calls.length === 0 || (content !== '' && content !== null)) faults.push(...judgeContent(content, at))
    open = idsOf(calls, 'id')
    faults.push(...judgeCalls(namesOf(calls.map((call) => call.function)), NAME, at))
    if (new Set(open).size < open.length) faults.push(`${at}: two calls have one id`)
    last = role
  }
  if (last !== 'user' && last !== 'tool') faults.push('it ends with an answer')
  return faults
}

/** Mistral's Chat Completions: ids of nine characters, and no user after a tool. */
export const judgeMistral: Judge = (body) => {
  const { messages = [] } = body
  const faults = judgeChat(body)
  for (const [at, { role, tool_calls: calls = [] }] of messages.entries()) {
    if (role === 'user' && messages[at - 1]?.role === 'tool') faults.push(`${at}: user after tool`)
    faults.push(...judgeCalls(idsOf(calls, 'id'), /^[a-zA-Z0-9]{9}$/, at))
  }
  return faults
}

/** Bedrock's Converse API. */
export const judgeConverse: Judge = ({ messages = [], toolConfig, system = [] }) => {
  const faults = [
    ...judgeTurns(rolesOf(messages), 'user', ['user']),
    ...judgeNames(namesOf(toolConfig?.tools?.map(({ toolSpec }) => toolSpec))),
    ...system.filter(({ text }) => text !== undefined && isBlank(text)).map(() => 'system: a blank text')
  ]
  let open: string[] = []
  for (const [at, { content }] of messages.entries()) {
    const blocks = blocksOf(content)
    if (blocks.length === 0) faults.push(`${at}: no content`)
    const results = blocks.flatMap(({ toolResult }) => toolResult ?? [])
    const texts = [...blocks, ...results.flatMap((result) => result.content)]
    if (texts.some(({ text }) => text !== undefined && isBlank(text))) faults.push(`${at}: a blank text`)
    if (results.some((result) => result.content.length === 0)) faults.push(`${at}: an empty result`)
    const answered = results.map(({ toolUseId }) => toolUseId)
    faults.push(...judgePairs(open, answered, at))
    const calls = blocks.flatMap(({ toolUse }) => toolUse ?? [])
    open = calls.map(({ toolUseId }) => toolUseId)
    faults.push(...judgeCalls([...namesOf(calls), ...open], NAME, at))
  }
  return faults
}
