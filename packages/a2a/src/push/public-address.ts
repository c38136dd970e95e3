import { BlockList, isIP } from 'node:net'

// What no public service has: IANA's registries of special-purpose addresses.
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4'
]
// Inside of 2000::/3: what reaches other networks by way of IPv4, and what is for documents.
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const refused = new BlockList()
for (const range of SPECIAL_V4) addRange(range, 'ipv4')
for (const range of SPECIAL_V6) addRange(range, 'ipv6')
const unicast = new BlockList()
unicast.addSubnet('2000::', 3, 'ipv6')

/** Whether an address, as the system writes it, is one of the public internet. Everything that is not known to be is not. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused.check(address, 'ipv4')
    case 6:
      return unicast.check(address, 'ipv6') && !refused.check(address, 'ipv6')
    default:
      return false
  }
}

function addRange(range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', bits] = range.split('/')
  refused.addSubnet(network, Number(bits), family)
}
