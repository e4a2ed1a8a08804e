// The same from Node: each attempt by its name, and what became of it, as one line of JSON.
import fs from 'node:fs'
import net from 'node:net'
import dgram from 'node:dgram'
import { execFileSync } from 'node:child_process'

const stage = JSON.parse(process.argv[2])

const connect = (options) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(options, () => {
      socket.destroy()
      resolve()
    })
    socket.on('error', reject)
  })

const send = (kind, [host, port]) =>
  new Promise((resolve, reject) => {
    const socket = dgram.createSocket(kind)
    socket.on('error', reject)
    socket.send('x', port, host, (problem) => {
      socket.close()
      problem ? reject(problem) : resolve()
    })
  })

const attempts = {
  'read a key in the home': () => fs.readFileSync(stage.secret),
  'list the home': () => fs.readdirSync(stage.home),
  'read our state': () => fs.readFileSync(stage.state_key),
  'change our state': () => fs.appendFileSync(stage.state_key, 'changed'),
  'read our file': () => fs.readFileSync(stage.file),
  'change our file': () => fs.appendFileSync(stage.file, 'changed'),
  'read /etc/shadow': () => fs.readFileSync('/etc/shadow'),
  "read the gateway's environment": () => fs.readFileSync(`/proc/${stage.pid}/environ`),
  "read the gateway's arguments": () => fs.readFileSync(`/proc/${stage.pid}/cmdline`),
  'write outside': () => fs.appendFileSync(`${stage.outside}/new`, 'changed'),
  'empty a file outside': () => fs.truncateSync(`${stage.outside}/theirs`),
  'read by a hard link': () => {
    fs.rmSync(`${stage.work}/hard`, { force: true })
    fs.linkSync(stage.secret, `${stage.work}/hard`)
    fs.readFileSync(`${stage.work}/hard`)
  },
  'read by a symbolic link': () => {
    fs.rmSync(`${stage.work}/soft`, { force: true })
    fs.symlinkSync(stage.secret, `${stage.work}/soft`)
    fs.readFileSync(`${stage.work}/soft`)
  },
  'rename to outside': () => {
    fs.writeFileSync(`${stage.work}/mine`, 'mine')
    fs.renameSync(`${stage.work}/mine`, `${stage.outside}/moved`)
  },
  'copy out': () => fs.copyFileSync(stage.file, `${stage.work}/copy`),
  'connect by TCP': () => connect({ host: stage.ip4.SOCK_STREAM[0], port: stage.ip4.SOCK_STREAM[1] }),
  'connect by TCP over IPv6': () => connect({ host: stage.ip6.SOCK_STREAM[0], port: stage.ip6.SOCK_STREAM[1] }),
  'send by UDP': () => send('udp4', stage.ip4.SOCK_DGRAM),
  'send by UDP over IPv6': () => send('udp6', stage.ip6.SOCK_DGRAM),
  'connect to a Unix socket': () => connect({ path: stage.socket }),
  'signal the gateway': () => process.kill(stage.pid, 0),
  'a program of its own reads the home': () => execFileSync('/bin/cat', [stage.secret], { stdio: 'pipe' }),
}

const results = {}
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt()
    results[name] = 'done'
  } catch (problem) {
    results[name] = problem.code ?? `exit ${problem.status}`
  }
}
console.log(JSON.stringify(results))
