import { subscribe } from 'node:diagnostics_channel'
import { isIP, type Socket } from 'node:net'

/** Records each host that this process connects to from now on, this machine excepted. */
export function recordOutsideConnections(): string[] {
  const hosts: string[] = []
  const record = (host: string) => {
    if (!/^(localhost|127\..*|::1|::ffff:127\..*)$/.test(host)) hosts.push(host)
  }
  subscribe('net.client.socket', (message) => {
    const { socket } = message as { socket: Socket }
    socket.on('lookup', (_err, _address, _family, host) => record(host))
    socket.on('connectionAttempt', (address) => isIP(address) && record(address))
  })
  return hosts
}
