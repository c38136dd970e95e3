export { CLOSE, closeCodeOf } from './close-codes.ts'
export { FrameRate, FrameSocket, onExpiry } from './frame-socket.ts'
export { routeUpgrades, WebSockets } from './web-sockets.ts'
export type { WebSocket } from 'ws'
