export { encodeSse, SSE_HEADERS, SSE_HEARTBEAT } from './encode-sse.ts'
export { createSseStream, type SseProjection, type SseStreamOptions } from './sse-stream.ts'
