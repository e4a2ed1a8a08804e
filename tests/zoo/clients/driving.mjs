// What every Node driver does; driving.py describes it. It is copied beside the client's node_modules and run there.
import { writeSync } from 'node:fs';

const CALLS = {
  call: ['echo', { message: 'Zoë says ☃' }],
  'call, numbers': ['get-sum', { a: 19, b: 23.5 }],
  'call, structured': ['get-structured-content', { location: 'Chicago' }],
  'call, image': ['get-tiny-image', {}],
  'call, links': ['get-resource-links', { count: 3 }],
  'call, wrong arguments': ['get-sum', { a: 'nineteen', b: 1 }],
};
const LONG = ['trigger-long-running-operation', { duration: 1, steps: 3 }];
const QUESTIONS = {
  'question: elicitation': ['trigger-elicitation-request', {}],
  'question: sampling': ['trigger-sampling-request', { prompt: '6 times 7?', maxTokens: 20 }],
  'question: roots': ['get-roots-list', {}],
};
export const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': { role: 'assistant', content: { type: 'text', text: 'forty-two' }, model: 'zoo' },
  'roots/list': { roots: [{ uri: 'file:///zoo/root', name: 'root' }] },
};
export const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} };

async function step(seen, name, work) {
  try {
    seen[name] = (await work()) ?? null;
  } catch (problem) {
    seen[name] = { raised: `${problem?.name}: ${problem?.message}` };
  }
}

// connect(job) gives an object with `tools` and `call`, and maybe `prompts`, `prompt`, `resources`, `read`, `progress`,
// `questions` (names of what it answers); `close` ends it.
export async function drive(connect) {
  for (const job of JSON.parse(process.argv[2])) {
    writeSync(1, `\n${JSON.stringify({ seen: await see(connect, job) })}\n`);
  }
  process.exit(0);
}

async function see(connect, job) {
  const { prefix } = job;
  const seen = {};
  try {
    const client = await connect(job);
    await step(seen, 'tools', () => client.tools());
    for (const [name, [tool, given]] of Object.entries(job.silent ? { call: CALLS.call } : CALLS)) {
      await step(seen, name, () => client.call(prefix + tool, given));
    }
    if (!job.silent) {
      if (client.progress) await step(seen, 'progress', () => client.progress(prefix + LONG[0], LONG[1]));
      if (client.prompts) {
        await step(seen, 'prompts', () => client.prompts());
        await step(seen, 'prompt', () => client.prompt(`${prefix}args-prompt`, { city: 'Paris' }));
      }
      if (client.resources) {
        await step(seen, 'resources', () => client.resources());
        await step(seen, 'resource', () => client.read('demo://resource/static/document/architecture.md'));
      }
      for (const [name, [tool, given]] of Object.entries(QUESTIONS)) {
        if (client.questions?.includes(name.replace('question: ', ''))) {
          await step(seen, name, () => client.call(prefix + tool, given));
        }
      }
    }
    await client.close();
  } catch (problem) {
    seen.connection = { raised: `${problem?.name}: ${problem?.message}` };
  }
  return seen;
}
