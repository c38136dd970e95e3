import type { ResponseEvent } from '@svc/openai'

type Content = 'none' | 'open' | 'said' | 'done'
interface State {
  readonly id: string
  readonly type: string
  content: Content
  text: string
  annotations: number
  argumentsDone: boolean
  isDone: boolean
}

/**
 * Checks the events of one response as state machines of its items: added, content added, deltas, text done, content done, item done; and
 * numbers without gaps. @throws at the first event that does not fit
 */
export function checkItemStates(events: readonly ResponseEvent[]): void {
  const items: State[] = []
  let open: State | undefined
  events.forEach((event, number) => {
    const fail = (why: string): never => {
      throw new Error(`${why}: ${JSON.stringify(event)}`)
    }
    if (event.sequence_number !== number) fail(`number ${number} is expected`)
    if (number === 0 && event.type !== 'response.created') fail('it must begin with response.created')
    if ('response' in event) {
      const isLast = !['response.created', 'response.queued', 'response.in_progress'].includes(event.type)
      if (isLast !== (number === events.length - 1)) fail('a response ends once')
      if (isLast && items.some(({ isDone }) => !isDone)) fail('an item is not done')
      return
    }
    const { output_index: index } = event
    if (event.type === 'response.output_item.added') {
      if (index !== items.length) fail('items are added in order')
      const { id, type } = event.item
      items.push({ id, type, content: 'none', text: '', annotations: 0, argumentsDone: false, isDone: false })
      return
    }
    const state = items[index] ?? fail('no such item')
    if (state.isDone) fail('the item is done')
    const id = 'item' in event ? event.item.id : event.item_id
    if (id !== state.id) fail('another item')
    const expect = (...contents: Content[]) =>
      contents.includes(state.content) || fail(`content is ${state.content}`)
    switch (event.type) {
      case 'response.content_part.added':
        expect('none')
        if (open !== undefined) fail('two texts at once')
        open = state
        state.content = 'open'
        break
      case 'response.output_text.delta':
      case 'response.reasoning_text.delta':
        expect('open')
        state.text += event.delta
        break
      case 'response.output_text.annotation.added':
        expect('open')
        if (event.annotation_index !== state.annotations++) fail('a wrong number of an annotation')
        break
      case 'response.output_text.done':
      case 'response.reasoning_text.done':
        expect('open')
        if (event.text !== state.text) fail(`the text is ${state.text}`)
        state.content = 'said'
        break
      case 'response.content_part.done':
        expect('said')
        if (event.part.text !== state.text) fail(`the text is ${state.text}`)
        state.content = 'done'
        open = undefined
        break
      case 'response.function_call_arguments.delta':
      case 'response.mcp_call_arguments.delta':
        if (state.argumentsDone) fail('the arguments are done')
        state.text += event.delta
        break
      case 'response.function_call_arguments.done':
      case 'response.mcp_call_arguments.done':
        if (state.argumentsDone) fail('the arguments are done')
        state.argumentsDone = true
        state.text = event.arguments
        break
      case 'response.mcp_call.in_progress':
        if (state.type !== 'mcp_call' || state.text !== '') fail('not where a call begins')
        break
      case 'response.mcp_call.completed':
      case 'response.mcp_call.failed':
        if (!state.argumentsDone) fail('the arguments are not done')
        break
      case 'response.output_item.done': {
        const { item } = event
        if ('status' in item && item.status === 'in_progress') fail('it is not done')
        if (item.type === 'message' || item.type === 'reasoning') expect('done')
        const isCall = item.type === 'function_call' || item.type === 'mcp_call'
        if (isCall && (!state.argumentsDone || item.arguments !== state.text)) fail('other arguments')
        state.isDone = true
        break
      }
    }
  })
}
