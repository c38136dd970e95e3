import assert from 'node:assert/strict'
import type { ClientToServerEvents, ServerToClientEvents } from '@svc/gateway'
import { io, type Socket } from 'socket.io-client'

// Asks the demo over Socket.IO, loses the connection on the way, and resumes.
const url = process.argv[2] ?? 'http://127.0.0.1:3000'
// With DEMO_AUTH=1 the demo prints one.
const token = process.env['USER_TOKEN']
const socket: Socket<ServerToClientEvents, ClientToServerEvents> = io(url, {
  transports: ['websocket'],
  auth: { token }
})

const question = 'How do I resume a stream? And what is 12 * (3+4)?'

const seen: { runId?: string; seq: number } = { seq: 0 }
let wasConnected = false
let text = ''
const done = Promise.withResolvers<string>()

socket.on('agent.tool.call', ({ toolName }) => console.log(`[${toolName}]`))
socket.on('agent.chunk', ({ chunk, seq }) => {
  seen.seq = seq
  text += chunk
  process.stdout.write(chunk)
})
socket.on('agent.done', ({ output }) => done.resolve(output.text))
socket.on('agent.error', ({ error }) => done.reject(new Error(error)))
socket.on('connect_error', (err) => {
  const isAway = socket.active && !wasConnected
  console.error(`${url}: ${isAway ? 'no service is there; start one with "npm run demo"' : err.message}`)
  // A service that was there may come back; who is refused is refused again.
  if (isAway || !socket.active) process.exit(1)
})

// After every connect but the first one: watch the run that is under way.
socket.on('connect', () => {
  wasConnected = true
  if (seen.runId !== undefined) socket.emit('run.watch', { runId: seen.runId, after: seen.seq })
})

socket.once('connect', () => console.log(question))
const answer = await socket.emitWithAck('agent.run', { name: 'assistant', input: question })
if ('error' in answer) throw new Error(answer.error)
seen.runId = answer.runId

socket.once('agent.chunk', () => {
  socket.disconnect()
  console.log('\n[the connection is lost]')
  setTimeout(() => socket.connect(), 100)
})

const whole = await done.promise
assert.ok(text.endsWith(whole), 'what came in pieces is the answer')
console.log(`\n[run ${answer.runId} is done]`)
socket.disconnect()
