export { encodeSse, SSE_HEADERS, SSE_HEARTBEAT, SSE_SUSPENDED } from './encode-sse.ts'
export { onReplyOver } from './open-replies.ts'
export { OpenReplies } from './open-replies.ts'
export { createSseStream, type SseProjection, type SseStreamOptions } from './sse-stream.ts'
