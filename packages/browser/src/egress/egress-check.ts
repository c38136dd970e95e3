import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { RUN_ERR_BROWSER_FAILED } from '../errors.ts'

/**
 * Arguments of Chromium that leave the proxy of a context as its only way out. A context without a proxy, and the browser's own
 * services, reach nothing.
 */
export const EGRESS_FLAGS: readonly string[] = [
  // WebRTC sends UDP past a proxy. Each binary has one of the two: the headless shell the first, the whole browser the other.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Names are resolved by the proxy that a context names; this one has no address.
  '--proxy-server=http://unproxied.invalid',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'
]

/** The part of Playwright's `Page` that the probe uses. */
export interface Evaluator {
  evaluate(expression: string): Promise<unknown>
}

const HOST = '127.0.0.1'

/**
 * Makes a page send a STUN request to a socket of this process, and checks that it does not arrive. Takes about 125 ms,
 * most of which WebRTC waits; for an empty page, once per process of the browser.
 * @throws RUN_ERR_BROWSER_FAILED if the browser sends UDP past its proxy, or cannot be checked; the error of the page if it is gone
 */
export async function probeUdp(page: Evaluator): Promise<void> {
  const socket = createSocket('udp4')
  try {
    socket.bind(0, HOST)
    await once(socket, 'listening')
    const { port } = socket.address()
    const firstPacket = once(socket, 'message')
    // The socket's own packet follows whatever the page has sent: a wait for the first one always ends.
    const gathered = page.evaluate(gatherCandidates(port)).then((isDone) => {
      if (isDone === false)
        throw new RUN_ERR_BROWSER_FAILED('its traffic cannot be checked, since its WebRTC does not work')
      socket.send(OWN_PACKET, port, HOST)
    })
    const [packet] = (await Promise.race([firstPacket, gathered.then(() => firstPacket)])) as [Buffer]
    if (!packet.equals(OWN_PACKET))
      throw new RUN_ERR_BROWSER_FAILED('it sends UDP past its proxy, so its traffic cannot be guarded')
  } finally {
    socket.close()
  }
}

const OWN_PACKET = Buffer.from('end of probe')

/** Resolves once WebRTC has asked a STUN server at the port for the page's addresses, or has no way to; with false if it does not work. */
function gatherCandidates(port: number): string {
  return `new Promise((resolve) => {
    if (typeof RTCPeerConnection === 'undefined') return resolve(true)
    const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${HOST}:${port}' }] })
    connection.onicegatheringstatechange = () => {
      if (connection.iceGatheringState !== 'complete') return
      connection.close()
      resolve(true)
    }
    connection.createDataChannel('probe')
    return connection.createOffer().then((offer) => connection.setLocalDescription(offer))
      .catch(() => resolve(false))
  }).catch(() => false)`
}

/** Checks a browser once, in the empty page of whichever desk asks first, for traffic past its proxy. */
export class EgressCheck {
  #hasPassed = false
  #running: Promise<void> | undefined

  /**
   * Resolves once the browser has passed, in this page or in that of another desk.
   * @throws RUN_ERR_BROWSER_FAILED if the browser sends UDP past its proxy, and the error of this page if it crashes or closes meanwhile
   */
  async pass(page: Evaluator): Promise<void> {
    while (!this.#hasPassed) {
      if (this.#running === undefined) return this.#probe(page)
      // The page of another desk may be gone, which says nothing about the browser.
      await this.#running.catch((err: unknown) => {
        if (err instanceof RUN_ERR_BROWSER_FAILED) throw err
      })
    }
  }

  async #probe(page: Evaluator): Promise<void> {
    this.#running = probeUdp(page)
    try {
      await this.#running
      this.#hasPassed = true
    } finally {
      this.#running = undefined
    }
  }
}
