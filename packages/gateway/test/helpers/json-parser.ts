import { EventEmitter } from 'node:events'

class JsonEncoder {
  encode(packet: object): Buffer[] {
    return [Buffer.from(JSON.stringify(packet))]
  }
}

class JsonDecoder extends EventEmitter {
  add(message: Buffer): void {
    this.emit('decoded', JSON.parse(message.toString()))
  }
  destroy(): void {}
}

/** A parser that is not Socket.IO's: packets are JSON in binary messages. */
export const jsonParser = { Encoder: JsonEncoder, Decoder: JsonDecoder }
