import { Buffer } from 'node:buffer'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

/** Beginnings of files, long enough to be known by. */
export const samples = {
  png: bytes(
    '89504e470d0a1a0a 0000000d49484452 00000001000000010806000000 1f15c489 0000000a49444154 789c6300010000050001 0d0a2db4 0000000049454e44 ae426082'
  ),
  jpeg: bytes('ffd8ffe000104a46494600010100000100010000ffd9'),
  gif: Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1'),
  pdf: Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj\n<<>>\nendobj\n', 'latin1'),
  zip: bytes(
    '504b0304 14000000 0000 0000 00000000 00000000 00000000 0100 0000 61 504b0506 000000000000000000000000'
  ),
  exe: Buffer.concat([Buffer.from('MZ'), bytes('90000300000004000000ffff0000b800')]),
  html: Buffer.from('<!doctype html><script>alert(1)</script>'),
  xml: Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
  json: Buffer.from('{"a":1}'),
  text: Buffer.from('Just a text.\n'),
  empty: Buffer.alloc(0)
}
